//! Try.
use cuda_builder::*;
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let mut b = CudaBuilder::new(&a[0]).arch(a[1].parse().unwrap()).copy_to(&a[2]);
    for o in &a[3..] {
        b = match o.as_str() {
            "ftz" => b.ftz(true), "sqrt" => b.fast_sqrt(true), "div" => b.fast_div(true), "nofma" => b.fma_contraction(false),
            "ll" => b.emit_llvm_ir(true), "bc" => b.emit_llvm_bitcode(true), "optix" => b.optix(true), "dev" => b.release(false),
            "noopt" => b.nvvm_opts(false), "lines" => b.debug(DebugInfo::LineTables), f => b.build_args(&["--features", f]),
        };
    }
    match b.build() { Ok(p) => println!("{}", p.display()), Err(e) => { eprintln!("ERR {e}"); std::process::exit(1) } }
}

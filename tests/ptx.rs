//! The PTX of every entry point, held against the contract. `usage.rs` has what becomes of it.

use std::collections::HashSet;
use std::sync::LazyLock;

use tilewright::ptx::{self, Level};
use tilewright_contract::{
    Bytes, CopyKind, CopyRows, Family, KERNELS, Kernel, Loads, Major, MmaPath, Operands, Precision, TileShape, lessons,
};

/// The entry points that a level has.
fn kernels(level: &Level) -> impl Iterator<Item = &'static Kernel> + use<'_> {
    KERNELS.iter().filter(|kernel| level.has(kernel.family))
}

/// Every entry point of every level with its PTX.
fn entries() -> impl Iterator<Item = (&'static Level, &'static Kernel, &'static str)> {
    type Entry = (&'static Level, &'static Kernel, &'static str);
    // Each is looked for in megabytes.
    static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let of_level = |level: &'static Level| kernels(level).map(move |kernel| (level, kernel));
        let all = ptx::levels().iter().flat_map(of_level);
        all.map(|(level, kernel)| {
            let text = ptx::entry(level, kernel.symbol);
            let text = text.unwrap_or_else(|| panic!("{} has no entry {}", level.arch, kernel.symbol));
            (level, kernel, text)
        })
        .collect()
    });
    ENTRIES.iter().copied()
}

/// The opcodes of a PTX text with their modifiers: `ld.shared.v4.b32`.
fn opcodes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| word.starts_with('@') || *word == "{");
        let opcode = words.next()?.trim_end_matches(';');
        opcode.starts_with(|c: char| c.is_ascii_lowercase()).then_some(opcode)
    })
}

/// The state space of an opcode that accesses memory; `Some("generic")` where it names none, `None` for other opcodes.
fn state_space(opcode: &str) -> Option<&str> {
    const ACCESSES: [&str; 5] = ["ld", "st", "atom", "red", "ldu"];
    const SPACES: [&str; 5] = ["param", "global", "shared", "const", "local"];
    let mut parts = opcode.split(['.', ':']);
    ACCESSES
        .contains(&parts.next()?)
        .then(|| parts.find(|part| SPACES.contains(part)).unwrap_or("generic"))
}

/// A static shared array: name, bytes.
fn shared_statics(ptx: &str) -> impl Iterator<Item = (&str, u32)> {
    ptx.lines().filter_map(|line| {
        let declaration = line.trim().strip_prefix(".shared .align ")?;
        let array = declaration.split_whitespace().last()?.strip_suffix("];")?;
        let (name, bytes) = array.split_once('[').expect("a shared static is an array of bytes");
        assert!(declaration.contains(" .b8 "), "not counted in bytes: {declaration}");
        Some((name, bytes.parse().expect("a length")))
    })
}

#[test]
fn the_entry_points_are_those_of_the_contract() {
    for level in ptx::levels() {
        let declared: HashSet<_> = level
            .ptx
            .lines()
            .filter_map(|line| line.strip_prefix(".visible .entry ")?.split_once('('))
            .map(|(symbol, _)| symbol)
            .collect();
        let mut expected: HashSet<_> = kernels(level).map(|kernel| kernel.symbol).collect();
        // Each is in the levels of the kernels that need it; devices take the first from the general level.
        let copies: &[_] = match level.is_architecture_specific() {
            true => &[CopyKind::Split],
            false => &[CopyKind::Pad, CopyKind::Transpose],
        };
        expected.extend(copies.iter().map(|kind| kind.symbol()));
        assert_eq!(declared, expected, "{}", level.arch);
    }
}

#[test]
fn rows_are_copied_by_words_and_stored_in_vectors() {
    for level in ptx::levels().iter().filter(|level| !level.is_architecture_specific()) {
        let text = ptx::entry(level, CopyKind::Pad.symbol()).expect("every general level has it");
        assert_eq!(ptx::max_threads(text), Some(CopyRows::THREADS), "{}", level.arch);
        let accesses = |kind: &str| {
            let of_memory = opcodes(text).filter(|opcode| state_space(opcode).is_some_and(|space| space != "param"));
            of_memory.filter(|opcode| opcode.starts_with(kind)).collect::<Vec<_>>()
        };
        // Eight elements of a chunk at the end of a row; four words of the others, or five.
        let mut loads = accesses("ld");
        loads.sort_unstable();
        let expected = [["ld.global.b16"; 8].to_vec(), ["ld.global.b32"; 5].to_vec()].concat();
        assert_eq!(loads, expected, "{}", level.arch);
        assert_eq!(accesses("st"), ["st.global.v4.b32"], "{}", level.arch);
        assert!(
            opcodes(text).all(|opcode| opcode.split('.').next() != Some("call")),
            "{}",
            level.arch
        );
    }
}

#[test]
fn every_access_names_its_state_space_and_none_is_to_local_memory() {
    const ALLOWED: [&str; 4] = ["param", "global", "shared", "const"];
    let mut wrong = Vec::new();
    for (level, kernel, text) in entries() {
        for opcode in opcodes(text) {
            // `cuda_std`'s atomics take generic addresses; split-K counts with two of them.
            let counts = kernel.split_k.is_some() && opcode == "atom.relaxed.gpu.add.u32";
            // A pointer within a parameter is a generic address to LLVM: that of the bias.
            let is_bias = kernel.supports.epilogue && opcode == "ld.b16";
            if state_space(opcode).is_some_and(|space| !ALLOWED.contains(&space)) && !counts && !is_bias {
                wrong.push(format!("{} {}: {opcode}", level.arch, kernel.symbol));
            }
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "generic or local accesses:\n{}", wrong.join("\n"));
}

#[test]
fn tiled_kernels_go_through_shared_memory_and_the_naive_one_does_not() {
    for (level, kernel, text) in entries().filter(|(_, kernel, _)| kernel.loads != Loads::Tma) {
        let tiled = kernel.smem.total() > Bytes(0);
        let is_naive = kernel.family == lessons::NAIVE.family;
        let without = is_naive || kernel.operands == Operands::MatrixAndVector(Major::K);
        assert_eq!(tiled, !without, "{}", kernel.symbol);
        let pipelined = kernel.loads == Loads::CpAsync;
        let has = |access| opcodes(text).any(|opcode| opcode.starts_with(access));
        let case = format!("{} {}", level.arch, kernel.symbol);
        // `ldmatrix` is how the tensor cores' fragments of 16-bit types are loaded.
        let is_of_tensor_cores = kernel.mma == MmaPath::MmaSync;
        let by_ldmatrix = is_of_tensor_cores && kernel.dtype.size_bytes() == 2;
        assert_eq!(has("ldmatrix."), by_ldmatrix, "{case}");
        assert_eq!(has("mma.sync."), is_of_tensor_cores, "{case}");
        assert!(has("ld.shared.") == tiled || by_ldmatrix, "{case}");
        // With split-K, CTAs synchronize through counters.
        assert_eq!(has("bar"), tiled || kernel.split_k.is_some(), "{case}");
        // The pipelined ones fill shared memory without registers. Others may share an epilogue that waits for loads.
        assert_eq!(has("cp.async.ca.") || has("cp.async.cg."), pipelined, "{case}");
        let stores = opcodes(text).filter(|opcode| opcode.starts_with("st.shared."));
        // Kernels with an epilogue and those of whole sectors write C to shared memory, and those of f32 and f64 rows
        // of it.
        let stores_rows = [Family::SIMT, Family::MMA_F64, Family::MMA_F64_WIDE].contains(&kernel.family);
        let stages_c = kernel.supports.epilogue || kernel.overlap > 0 || stores_rows;
        let stores_none = !tiled || pipelined && !stages_c;
        assert_eq!(stores.count() == 0, stores_none, "{case}");
    }
}

#[test]
fn copies_are_as_wide_as_the_contract_says() {
    for (level, kernel, text) in entries().filter(|(_, kernel, _)| kernel.loads == Loads::CpAsync) {
        // `.cg` is of 16 bytes alone (PTX ISA, "cp.async").
        let has = |copy| opcodes(text).any(|opcode| opcode.starts_with(copy));
        let case = format!("{} {}", level.arch, kernel.symbol);
        let vectors = kernel.alignment.elems;
        let is_of_16_bytes = |vector: &u32| vector * kernel.dtype.size_bytes() == 16;
        assert_eq!(
            has("cp.async.cg.shared.global"),
            vectors.iter().any(is_of_16_bytes),
            "{case}"
        );
        assert_eq!(
            has("cp.async.ca.shared.global"),
            !vectors.iter().all(is_of_16_bytes),
            "{case}"
        );
    }
}

#[test]
fn single_elements_of_16_bits_are_loaded_by_predicate_and_stored_in_vectors() {
    let single = |kernel: &Kernel| kernel.mma == MmaPath::MmaSync && kernel.loads == Loads::Threads;
    let mut kernels = 0;
    for (level, kernel, text) in entries().filter(|(_, kernel, _)| single(kernel)) {
        let case = format!("{} {}", level.arch, kernel.symbol);
        let predicated = text
            .lines()
            .filter(|line| line.trim_start().starts_with("@p ld.global.b16"));
        // A thread's elements of a k-tile of A and B: of the first two, and of the loop. Strips load nothing ahead, and
        // have vectors where they store C.
        let TileShape { m, n, k } = kernel.tile;
        let elems = (m + n) * k / kernel.threads();
        let (k_tiles, vectors) = match kernel.is_persistent() {
            true => (1, "st.global.v4.b32"),
            false => (3, "st.shared.v4.b32"),
        };
        assert_eq!(predicated.count() as u32, k_tiles * elems, "{case}");
        assert!(opcodes(text).any(|opcode| opcode == vectors), "{case}");
        kernels += 1;
    }
    assert!(kernels >= 16, "{kernels}");
}

#[test]
fn kernels_with_wgmma_have_the_instructions_of_their_tile() {
    let mut kernels = 0;
    for (level, kernel, text) in entries() {
        let Operands::Matrices(majors) = kernel.operands else {
            continue;
        };
        if kernel.mma != MmaPath::Wgmma {
            continue;
        }
        kernels += 1;
        let case = format!("{} {}", level.arch, kernel.symbol);
        let (n, cluster) = (kernel.tile.n, kernel.cluster);
        // Of the tile that is computed, which may be one of the transpose.
        let n = if kernel.is_transposed { kernel.tile.m } else { n };
        let types = match kernel.precision {
            Precision::Tf32 => "k8.f32.tf32.tf32".to_owned(),
            _ => format!("k16.f32.{0}.{0}", kernel.operand_dtype()),
        };
        // Each with the bits for MN-major operands (PTX ISA, "wgmma.mma_async": imm-trans-a, imm-trans-b).
        let bits = majors.map(|major| u32::from(major == Major::Mn));
        let product = format!("wgmma.mma_async.sync.aligned.m64n{n}{types} {{");
        let products: Vec<_> = text.lines().filter(|line| line.contains("wgmma.mma_async")).collect();
        // 128 bytes along K in 32s.
        assert!(
            products.len() >= 4 && products.len().is_multiple_of(4),
            "{case}: {}",
            products.len()
        );
        let end = match kernel.precision {
            Precision::Tf32 => ", 1, 1; }".to_owned(),
            _ => format!(", 1, 1, {}, {}; }}", bits[0], bits[1]),
        };
        assert!(
            products
                .iter()
                .all(|line| line.contains(&product) && line.ends_with(&end)),
            "{case}: not {product} .. {end}: {}",
            products[0]
        );
        let has = |instruction: &str| text.contains(instruction);
        // A batch is a third dimension of the tensor map.
        let rank = if kernel.supports.batch || kernel.supports.groups {
            3
        } else {
            2
        };
        let copies = |to_and_from| has(&format!("cp.async.bulk.tensor.{rank}d.{to_and_from}"));
        assert!(copies("shared::cluster.global.tile.mbarrier"), "{case}");
        assert_eq!(has(".multicast::cluster"), cluster > 1, "{case}");
        let clusters = format!(".reqnctapercluster {cluster}");
        assert!(cluster == 1 || has(&clusters), "{case}");
        assert_eq!(copies("global.shared::cta"), kernel.supports.tma_store, "{case}");
        assert_eq!(has("setmaxnreg."), kernel.supports.reallocates_registers, "{case}");
        assert!(has("mbarrier.try_wait.parity"), "{case}");
        for overlap in ["griddepcontrol.wait;", "griddepcontrol.launch_dependents;"] {
            assert_eq!(has(overlap), kernel.supports.dependent_launch, "{case}: {overlap}");
        }
        for other in ["ldmatrix", "mma.sync", "cp.async.cg", "cp.async.ca"] {
            assert!(!has(other), "{case}: {other}");
        }
    }
    assert_eq!(kernels, 82);
}

#[test]
fn kernels_call_nothing() {
    for (level, kernel, text) in entries() {
        let call = opcodes(text).find(|opcode| opcode.split('.').next() == Some("call"));
        assert_eq!(
            call, None,
            "{} {}: a panic or a function that was not inlined",
            level.arch, kernel.symbol
        );
    }
}

#[test]
fn dynamic_shared_memory_is_one_extern_array_that_only_the_dynamic_kernels_use() {
    for level in ptx::levels() {
        let declarations: Vec<_> = level
            .ptx
            .lines()
            .filter(|line| line.starts_with(".extern .shared .align "))
            .collect();
        let [declaration] = declarations[..] else {
            panic!("{}: {declarations:?}", level.arch)
        };
        let name = declaration
            .split_whitespace()
            .last()
            .and_then(|array| array.strip_suffix("[];"));
        let name = name.unwrap_or_else(|| panic!("not an array without length: {declaration}"));
        assert!(!name.contains('.'), "{name}");
        for (_, kernel, text) in entries().filter(|(of, ..)| of.arch == level.arch) {
            assert_eq!(
                names(text, name),
                kernel.dynamic_bytes() > Bytes(0),
                "{} {}",
                level.arch,
                kernel.symbol
            );
        }
    }
}

#[test]
fn declared_static_shared_memory_is_what_the_contract_says() {
    for level in ptx::levels() {
        let statics: Vec<_> = shared_statics(&level.ptx).collect();
        for (_, kernel, text) in entries().filter(|(of, ..)| of.arch == level.arch) {
            let used = statics.iter().filter(|(name, _)| names(text, name));
            assert_eq!(
                Bytes(used.map(|(_, bytes)| bytes).sum()),
                kernel.static_bytes(),
                "{} {}",
                level.arch,
                kernel.symbol
            );
        }
    }
}

/// Whether a PTX text has this identifier.
fn names(text: &str, name: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
    text.match_indices(name).any(|(at, _)| {
        let after = text[at + name.len()..].starts_with(is_of_name);
        !after && !text[..at].ends_with(is_of_name)
    })
}

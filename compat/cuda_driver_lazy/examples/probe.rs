//! Says what a program finds at run time: the driver and its devices, or why there is none.
//!
//! `cargo run -p cuda_driver_lazy --example probe`; the exit status is 3 where no driver can be loaded.

use std::process::ExitCode;

use cust::CudaFlags;
use cust::device::Device;
use cust::error::CudaResult;

fn main() -> ExitCode {
    let driver = match cuda_driver_lazy::load() {
        Ok(driver) => driver,
        Err(unavailable) => {
            println!("{unavailable}");
            return ExitCode::from(3);
        }
    };
    let version = driver
        .version()
        .map_or_else(|| "an unknown version".to_owned(), |version| version.to_string());
    println!("{}, up to CUDA {version}", driver.path().display());
    let here = cuda_driver_lazy::FUNCTIONS
        .iter()
        .filter(|name| driver.symbol(name).is_some())
        .count();
    println!("{here} of {} functions", cuda_driver_lazy::FUNCTIONS.len());
    match devices() {
        Ok(names) => names
            .iter()
            .enumerate()
            .for_each(|(ordinal, name)| println!("device {ordinal}: {name}")),
        Err(error) => println!("no devices: {error}"),
    }
    ExitCode::SUCCESS
}

fn devices() -> CudaResult<Vec<String>> {
    cust::init(CudaFlags::empty())?;
    Device::devices()?.map(|device| device?.name()).collect()
}

//! Files of text that the user names.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::failure::{Failure, Result};

/// The longest text that is read, far above any table of shapes or speeds.
const MAX_BYTES: u64 = 4 << 20;

/// Reads a file of text. A pipe would block and a device might not end: neither is read.
pub fn text(path: &Path) -> Result<String> {
    let fail = |problem: String| Failure::file(path, problem);
    let metadata = fs::metadata(path).map_err(|error| fail(error.to_string()))?;
    if !metadata.is_file() {
        return Err(fail("is not a regular file".into()));
    }
    // A file may grow, and some in /proc say that they are empty.
    let mut text = String::new();
    let file = File::open(path).map_err(|error| fail(error.to_string()))?;
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| fail(error.to_string()))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(fail(format!(
            "has {} B, the longest allowed is {MAX_BYTES} B",
            metadata.len()
        )));
    }
    Ok(text)
}

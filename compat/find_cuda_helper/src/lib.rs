//! Drop-in `find_cuda_helper` 0.2.0 that asks for no CUDA installation.
//!
//! The published crate is a build dependency of `cust` and `cust_raw`, and the only reason why these need CUDA at build
//! time: its [`include_cuda`] stops the build where no toolkit is found, and makes the program depend on `libcuda`
//! where one is. This one does neither, so `cust_raw`'s functions stay undefined until something defines them; that is
//! the task of `cuda_driver_lazy`.
//!
//! The other functions answer the same questions as the published ones (where is a toolkit, if there is one), and
//! say "nowhere" by an empty answer instead of a panic.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The variables that may name the toolkit's root folder, in order of preference.
const ROOT_VARIABLES: [&str; 3] = ["CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];

/// Does what a build script needs in order to use the driver API: nothing.
///
/// It neither looks for CUDA nor asks for a library to be linked. It only tells cargo not to run the build script again
/// for any change but its own.
pub fn include_cuda() {
    println!("cargo:rerun-if-changed=build.rs");
}

/// The root folder of a CUDA toolkit, known by `include/cuda.h`.
///
/// The first that holds among the folders named by `CUDA_PATH`, `CUDA_ROOT` and `CUDA_TOOLKIT_ROOT_DIR` and the usual
/// places (`/usr/local/cuda`, `/opt/cuda`; on Windows `C:/CUDA`).
pub fn find_cuda_root() -> Option<PathBuf> {
    let usual: &[&str] = if cfg!(windows) {
        &["C:/CUDA"]
    } else {
        &["/usr/local/cuda", "/opt/cuda"]
    };
    let named = ROOT_VARIABLES.iter().filter_map(env::var_os).map(PathBuf::from);
    first_root(named.chain(usual.iter().map(PathBuf::from)))
}

fn first_root(mut candidates: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    candidates.find(|folder| folder.join("include/cuda.h").is_file())
}

/// The folders that hold a toolkit's libraries; none where there is no toolkit.
///
/// Looked at are the folders of [`read_env`], then `/opt/cuda`, `/usr/local/cuda` and `/usr/local/cuda-*`. Each
/// contributes its `lib64` and that of its `targets/x86_64-linux`, where they exist, each followed by its `stubs`.
///
/// On Windows it is `lib/x64` of [`find_cuda_root`].
pub fn find_cuda_lib_dirs() -> Vec<PathBuf> {
    if cfg!(windows) {
        return find_cuda_root()
            .map(|root| root.join("lib/x64"))
            .filter(|folder| folder.is_dir())
            .into_iter()
            .collect();
    }
    let mut bases = read_env();
    bases.extend(["/opt/cuda", "/usr/local/cuda"].map(PathBuf::from));
    bases.extend(versioned_installations(Path::new("/usr/local")));
    bases.iter().flat_map(|base| lib_dirs_of(base)).collect()
}

/// The entries `cuda-*` of a folder, sorted by name.
fn versioned_installations(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("cuda-"))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

fn lib_dirs_of(base: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut add = |folder: PathBuf| {
        let stubs = folder.join("stubs");
        found.extend([folder, stubs]);
    };
    if base.join("lib64").is_dir() {
        add(base.join("lib64"));
    }
    let target = base.join("targets/x86_64-linux");
    if target.join("include/cuda.h").is_file() {
        add(target.join("lib"));
    }
    found
}

/// The folders that the variable `CUDA_LIBRARY_PATH` lists, separated as in `PATH`; none if it is unset.
pub fn read_env() -> Vec<PathBuf> {
    env::var_os("CUDA_LIBRARY_PATH").map_or_else(Vec::new, |list| env::split_paths(&list).collect())
}

/// The root folder of the OptiX SDK as `OPTIX_ROOT` or else `OPTIX_ROOT_DIR` names it.
///
/// The folder is not checked.
pub fn find_optix_root() -> Option<PathBuf> {
    ["OPTIX_ROOT", "OPTIX_ROOT_DIR"]
        .iter()
        .find_map(env::var_os)
        .map(PathBuf::from)
}

/// The folder of libNVVM in the toolkit at [`find_cuda_root`]; an empty text where there is no toolkit.
pub fn find_libnvvm_bin_dir() -> String {
    let folder = if cfg!(windows) { "nvvm/lib/x64" } else { "nvvm/lib64" };
    find_cuda_root()
        .map(|root| root.join(folder).to_string_lossy().into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{first_root, lib_dirs_of, versioned_installations};
    use std::fs;
    use std::path::PathBuf;

    /// An empty folder for one test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("find_cuda_helper-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("the temporary folder is writable");
            Self(path)
        }

        fn file(&self, name: &str) {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().expect("it has a parent")).expect("writable");
            fs::write(path, "").expect("writable");
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            // A folder left behind harms no other test: each has a name of its own.
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_root_is_known_by_its_header() {
        let folder = Folder::new("root");
        folder.file("without/lib64/libcudart.so");
        folder.file("with/include/cuda.h");
        let candidates = || {
            ["missing", "without", "with"]
                .into_iter()
                .map(|name| folder.0.join(name))
        };
        assert_eq!(first_root(candidates()), Some(folder.0.join("with")));
        assert_eq!(first_root(candidates().take(2)), None);
    }

    #[test]
    fn library_folders_come_with_their_stubs() {
        let folder = Folder::new("libs");
        folder.file("lib64/libcudart.so");
        folder.file("targets/x86_64-linux/include/cuda.h");
        let expected = [
            "lib64",
            "lib64/stubs",
            "targets/x86_64-linux/lib",
            "targets/x86_64-linux/lib/stubs",
        ];
        assert_eq!(lib_dirs_of(&folder.0), expected.map(|name| folder.0.join(name)));
        assert!(lib_dirs_of(&folder.0.join("elsewhere")).is_empty());
    }

    #[test]
    fn versioned_installations_are_sorted() {
        let folder = Folder::new("versions");
        for name in ["cuda-12.4/x", "cuda-11.8/x", "cuda/x", "other/x"] {
            folder.file(name);
        }
        let expected = ["cuda-11.8", "cuda-12.4"].map(|name| folder.0.join(name));
        assert_eq!(versioned_installations(&folder.0), expected);
        assert!(versioned_installations(&folder.0.join("elsewhere")).is_empty());
    }

    #[test]
    fn without_a_toolkit_there_is_no_panic() {
        super::include_cuda();
        super::find_cuda_lib_dirs();
        super::find_optix_root();
        super::find_libnvvm_bin_dir();
    }
}

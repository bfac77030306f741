//! The options of `#[kernel(..)]`: from the bytes of a marker static to LLVM's function attributes.

use super::global::Global;
use super::lexer::{Kind, tokens};

/// The section of the markers.
pub(crate) const KERNEL_SECTION: &str = ".nvptx.kernel";
/// What a marker's name starts with; the rest is the kernel's name.
const KERNEL_MARKER: &str = "__cuda_std_kernel_";
/// The first word of a marker: a later form of it would have another.
const FORM: u32 = 1;
/// The words of a marker.
const WORDS: usize = 10;

/// What a kernel says of its launches and its registers. `docs/device-abi.md` holds the layout of the words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct KernelAttributes {
    /// One to three extents; none where the option was not written.
    pub max_threads: Vec<u32>,
    pub min_blocks: Option<u32>,
    pub max_registers: Option<u32>,
    /// One to three extents; none where the option was not written.
    pub cluster: Vec<u32>,
    pub smem_spilling: bool,
    pub assume_max_threads: bool,
}

/// Reads a marker: the kernel's name and its attributes; `None` when it is none that this version knows.
pub(crate) fn read_marker<'a>(global: &Global<'a>) -> Option<(&'a str, KernelAttributes)> {
    let name = global.name().strip_prefix(KERNEL_MARKER)?;
    let words = words(global.initializer?).filter(|words| words.len() == WORDS)?;
    let [FORM, threads @ .., flags] = words.as_slice() else {
        return None;
    };
    let &[tx, ty, tz, min_blocks, max_registers, cx, cy, cz] = threads else {
        return None;
    };
    let written = |extents: [u32; 3]| extents.into_iter().take_while(|&extent| extent != 0).collect();
    let number = |word: u32| (word != 0).then_some(word);
    Some((
        name,
        KernelAttributes {
            max_threads: written([tx, ty, tz]),
            min_blocks: number(min_blocks),
            max_registers: number(max_registers),
            cluster: written([cx, cy, cz]),
            smem_spilling: flags & 1 != 0,
            assume_max_threads: flags & 2 != 0,
        },
    ))
}

/// The little-endian words of the one byte string in an initial value:
/// `<{ [8 x i8] }> <{ [8 x i8] c"\01\00\00\00@\00\00\00" }>`.
pub(super) fn words(initializer: &str) -> Option<Vec<u32>> {
    let text = tokens(initializer).find(|token| token.kind == Kind::Text)?.text;
    let mut rest = text.strip_prefix('"')?.strip_suffix('"')?.as_bytes();
    let mut bytes = Vec::new();
    while let Some((&first, after)) = rest.split_first() {
        let (byte, after) = match (first, after) {
            (b'\\', [b'\\', after @ ..]) => (b'\\', after),
            (b'\\', [high, low, after @ ..]) => {
                let digit = |letter: &u8| char::from(*letter).to_digit(16);
                ((digit(high)? * 16 + digit(low)?) as u8, after)
            }
            plain => plain,
        };
        bytes.push(byte);
        rest = after;
    }
    let (words, rest) = bytes.as_chunks();
    rest.is_empty()
        .then(|| words.iter().copied().map(u32::from_le_bytes).collect())
}

impl KernelAttributes {
    /// The attributes from which LLVM writes the directives of the entry. It has none for the pragma.
    pub fn for_llvm(&self) -> Vec<String> {
        let list = |extents: &[u32]| extents.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let number = |number: Option<u32>| number.map_or(String::new(), |number| number.to_string());
        [
            ("nvvm.maxntid", list(&self.max_threads)),
            ("nvvm.minctasm", number(self.min_blocks)),
            ("nvvm.maxnreg", number(self.max_registers)),
            ("nvvm.cluster_dim", list(&self.cluster)),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| format!("\"{key}\"=\"{value}\""))
        .collect()
    }

    /// The threads of the largest block, if the kernel says so.
    pub fn threads(&self) -> Option<u32> {
        (!self.max_threads.is_empty()).then(|| self.max_threads.iter().product())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(name: &str, bytes: &str) -> String {
        format!("@{name} = constant [40 x i8] c\"{bytes}\", section \".nvptx.kernel\", align 4")
    }

    fn read(line: &str) -> Option<(&str, KernelAttributes)> {
        read_marker(&Global::parse(line)?)
    }

    fn escaped(words: [u32; 10]) -> String {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        bytes
            .map(|byte| match byte {
                b'"' | b'\\' => format!("\\{byte:02X}"),
                b' '..=b'~' => char::from(byte).to_string(),
                _ => format!("\\{byte:02X}"),
            })
            .collect()
    }

    #[test]
    fn words_become_attributes() {
        let line = marker("__cuda_std_kernel_k", &escaped([1, 64, 4, 0, 2, 92, 2, 1, 1, 1]));
        let (name, attributes) = read(&line).unwrap();
        assert_eq!(name, "k");
        assert_eq!((attributes.smem_spilling, attributes.assume_max_threads), (true, false));
        assert_eq!(attributes.threads(), Some(256));
        assert_eq!(
            attributes.for_llvm(),
            [
                "\"nvvm.maxntid\"=\"64,4\"",
                "\"nvvm.minctasm\"=\"2\"",
                "\"nvvm.maxnreg\"=\"92\"",
                "\"nvvm.cluster_dim\"=\"2,1,1\""
            ]
        );
    }

    #[test]
    fn nothing_written_is_nothing_said() {
        let line = marker("__cuda_std_kernel_k", &escaped([1, 0, 0, 0, 0, 0, 0, 0, 0, 3]));
        let (_, attributes) = read(&line).unwrap();
        assert_eq!(attributes.for_llvm(), [""; 0]);
        assert_eq!(attributes.threads(), None);
        assert!(attributes.smem_spilling && attributes.assume_max_threads);
    }

    #[test]
    fn a_marker_of_another_form_is_not_guessed_at() {
        let good = escaped([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(read(&marker("__cuda_std_kernel_k", &good)).is_some());
        assert_eq!(read(&marker("other", &good)), None);
        assert_eq!(read(&marker("__cuda_std_kernel_k", &good[3..])), None);
        assert_eq!(read(&marker("__cuda_std_kernel_k", "\\zz")), None);
        let later = escaped([2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(read(&marker("__cuda_std_kernel_k", &later)), None);
        assert_eq!(read("@__cuda_std_kernel_k = external global [40 x i8]"), None);
    }
}

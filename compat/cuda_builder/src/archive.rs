//! Members of a static library, in the order in which rustc put them there.
//!
//! The format is `ar` with GNU or BSD long names. The members here are LLVM bitcode, which LLVM's own linker would also
//! read straight from the library, but not with different rules for the standard library and for the user's crates.

/// What every archive starts with.
const MAGIC: &[u8] = b"!<arch>\n";
/// The length of a member's header (bytes).
const HEADER: usize = 60;

/// A member of an archive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Member<'a> {
    pub name: String,
    pub data: &'a [u8],
}

/// The members of `archive`, symbol tables left out; `None` when it is no archive or cut short.
pub(crate) fn members(archive: &[u8]) -> Option<Vec<Member<'_>>> {
    let mut rest = archive.strip_prefix(MAGIC)?;
    let mut long_names: &[u8] = &[];
    let mut members = Vec::new();
    while !rest.is_empty() {
        let header = rest.get(..HEADER)?;
        let raw_name = std::str::from_utf8(&header[..16]).ok()?.trim_end();
        let size: usize = std::str::from_utf8(&header[48..58]).ok()?.trim().parse().ok()?;
        let mut data = rest.get(HEADER..HEADER.checked_add(size)?)?;
        // Members start at even offsets.
        rest = rest.get(HEADER + size + size % 2..).unwrap_or_default();

        let name = if raw_name == "//" {
            long_names = data;
            continue;
        } else if raw_name == "/" || raw_name == "/SYM64/" {
            continue;
        } else if let Some(length) = raw_name.strip_prefix("#1/") {
            // BSD: the name stands before the data.
            let length: usize = length.parse().ok()?;
            let name = data.get(..length)?;
            data = &data[length..];
            text(name.split(|&byte| byte == 0).next()?)
        } else if let Some(offset) = raw_name.strip_prefix('/') {
            // GNU: the name stands in the table, closed by a slash and a line feed.
            let start = long_names.get(offset.parse::<usize>().ok()?..)?;
            text(start.split(|&byte| byte == b'\n').next()?.strip_suffix(b"/")?)
        } else {
            raw_name.strip_suffix('/').unwrap_or(raw_name).to_owned()
        };
        if !name.starts_with("__.SYMDEF") {
            members.push(Member { name, data });
        }
    }
    Some(members)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).into_bytes();
        bytes.extend_from_slice(data);
        if data.len() % 2 == 1 {
            bytes.push(b'\n');
        }
        bytes
    }

    #[test]
    fn both_kinds_of_long_names() {
        let parts = [
            MAGIC.to_vec(),
            member("/", b"symbols"),
            member("//", b"first-long-member-name.o/\nsecond-long-member-name.o/\n"),
            member("/26", b"abc"),
            member("short.o/", b"de"),
            member("#1/8", b"bsd.o\0\0\0fgh"),
        ];
        let archive = parts.concat();
        let list = members(&archive).unwrap();
        let found: Vec<_> = list.iter().map(|member| (member.name.as_str(), member.data)).collect();
        let expected: [(&str, &[u8]); 3] = [
            ("second-long-member-name.o", b"abc"),
            ("short.o", b"de"),
            ("bsd.o", b"fgh"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn damage_is_noticed() {
        assert_eq!(members(b"not an archive"), None);
        let mut cut = [MAGIC.to_vec(), member("a.o/", b"abcd")].concat();
        cut.truncate(cut.len() - 2);
        assert_eq!(members(&cut), None);
    }
}

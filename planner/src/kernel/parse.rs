//! Buffers as text: one a line, and what is wrong with a line.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::str::FromStr;

use super::buffer::{Buffer, ElementType, Extent, MOST_COPIES, MOST_ELEMENTS};

/// The most buffers of a kernel, and the most dimensions that have names.
const MOST_BUFFERS: usize = 32;
const MOST_DIMENSIONS: usize = 8;

/// How a buffer is written.
const FORM: &str =
    "a buffer is written NAME=ROWSxCOLUMNS:TYPE[xCOUNT] and marks such as @stage: kv=128x128:bf16x2@stage";

/// A line that is no buffer of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongLine {
    /// Which, from 1.
    pub line: usize,
    /// Why, in one line.
    pub reason: String,
}

/// Reads the buffers of a kernel: one a line, `#` begins a comment, empty lines count as lines and as nothing else.
///
/// # Errors
/// The first wrong line, and why it is.
pub fn buffers(text: &str) -> Result<Vec<Buffer>, WrongLine> {
    let mut buffers: Vec<(usize, Buffer)> = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let at = |reason: String| WrongLine { line, reason };
        let buffer: Buffer = content.parse().map_err(at)?;
        if let Some((first, other)) = buffers.iter().find(|(_, other)| other.name == buffer.name) {
            return Err(at(format!("`{}` is on line {first} already", other.name)));
        }
        if buffers.len() == MOST_BUFFERS {
            return Err(at(format!("a kernel has at most {MOST_BUFFERS} buffers")));
        }
        buffers.push((line, buffer));
    }
    let mut names = BTreeSet::new();
    for (line, buffer) in &buffers {
        let at = |reason: String| WrongLine { line: *line, reason };
        check_among(buffer, &buffers).map_err(at)?;
        names.extend(buffer.extents().into_iter().filter_map(|extent| extent.name.as_deref()));
        if names.len() > MOST_DIMENSIONS {
            return Err(at(format!("at most {MOST_DIMENSIONS} dimensions have names")));
        }
    }
    Ok(buffers.into_iter().map(|(_, buffer)| buffer).collect())
}

impl FromStr for Buffer {
    type Err = String;

    /// Reads one buffer, such as `kv=128x128:bf16x2@stage`. What it says of other buffers is not looked at.
    fn from_str(text: &str) -> Result<Self, String> {
        buffer(text)
    }
}

fn buffer(text: &str) -> Result<Buffer, String> {
    let shown = text.chars().take(60).collect::<String>();
    let not_in_form = || format!("`{}`: {FORM}", shown.escape_debug());
    let (name, rest) = text.trim().split_once('=').ok_or_else(not_in_form)?;
    let mut marks = rest.split('@');
    let body = marks.next().unwrap_or_default();
    let (shape, ty) = body.split_once(':').ok_or_else(not_in_form)?;
    let (rows, columns) = shape.split_once('x').ok_or_else(not_in_form)?;
    let (ty, copies) = ty.split_once('x').unwrap_or((ty, "1"));
    let [name, rows, columns, ty, copies] = [name, rows, columns, ty, copies].map(str::trim);
    check_name(name)?;
    let ty = ElementType::find(ty).ok_or_else(|| unknown_type(ty))?;
    let mut buffer = Buffer {
        copies: extent("copies", copies, MOST_COPIES)?,
        ..Buffer::new(
            name,
            extent("rows", rows, MOST_ELEMENTS)?,
            extent("columns", columns, MOST_ELEMENTS)?,
            ty,
        )
    };
    marks.try_for_each(|mark| set_mark(&mut buffer, mark.trim()))?;
    Ok(buffer)
}

fn check_name(name: &str) -> Result<(), String> {
    const MOST: usize = 32;
    let is_good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=MOST).contains(&name.len()) && name.chars().all(is_good) {
        return Ok(());
    }
    let shown: String = name.chars().take(MOST).collect();
    Err(format!(
        "the name `{}` is not one: 1 to {MOST} letters, digits, `_` and `-`",
        shown.escape_debug()
    ))
}

fn unknown_type(name: &str) -> String {
    let known = ElementType::ALL.map(|ty| ty.name).join(", ");
    let shown: String = name.chars().take(20).collect();
    format!("unknown element type `{}`; known: {known}", shown.escape_debug())
}

/// Reads `128` or `n128`.
fn extent(what: &str, text: &str, most: u32) -> Result<Extent, String> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let name = &text[..text.len() - digits.len()];
    let shown: String = text.chars().take(40).collect();
    let wrong = || {
        format!(
            "{what} `{}`: a number from 1 to {most}, after the letters of a name (none of them an x) where moves may \
             halve it, such as n128",
            shown.escape_debug()
        )
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let count = digits
        .parse()
        .ok()
        .filter(|count| is_number && (1..=most).contains(count));
    Ok(Extent {
        name: (!name.is_empty()).then(|| name.to_string()),
        count: count.ok_or_else(wrong)?,
    })
}

fn set_mark(buffer: &mut Buffer, mark: &str) -> Result<(), String> {
    match mark.split_once('=') {
        None if mark == "stage" => buffer.staged = true,
        None if mark == "once" => buffer.staged = false,
        None if mark == "static" => buffer.is_static = true,
        Some(("align", bytes)) => {
            let good = |bytes: &u32| bytes.is_power_of_two() && *bytes <= 1024;
            buffer.align = bytes.parse().ok().filter(good).ok_or_else(|| {
                let shown: String = bytes.chars().take(20).collect();
                format!("@align={}: a power of two up to 1024", shown.escape_debug())
            })?;
        }
        Some(("over", name)) => buffer.over = Some(name.into()),
        Some(("after", name)) => buffer.after = Some(name.into()),
        _ => {
            let shown: String = mark.chars().take(40).collect();
            return Err(format!(
                "unknown mark `@{}`; known: @stage, @once, @static, @align=BYTES, @over=NAME, @after=NAME",
                shown.escape_debug()
            ));
        }
    }
    Ok(())
}

/// Holds a buffer against the others: those that it shares memory with, and the dimensions that it shares.
fn check_among(buffer: &Buffer, all: &[(usize, Buffer)]) -> Result<(), String> {
    let find = |name: &str| all.iter().map(|(_, other)| other).find(|other| other.name == name);
    let shared = [("over", &buffer.over), ("after", &buffer.after)];
    for (mark, name) in shared {
        let Some(name) = name else { continue };
        let shown: String = name.chars().take(40).collect();
        let shown = shown.escape_debug();
        let other = find(name).ok_or_else(|| format!("@{mark}={shown}: there is no such buffer"))?;
        if other.is_static != buffer.is_static {
            return Err(format!("@{mark}={shown}: static and dynamic buffers share no memory"));
        }
    }
    if buffer.over.is_some() && buffer.after.is_some() {
        return Err("@over and @after exclude each other: a buffer shares memory already, or could".into());
    }
    // A chain that comes back to where it began has no first buffer.
    let next = |of: &Buffer| of.over.as_deref().or(of.after.as_deref()).and_then(find);
    let mut at = buffer;
    for _ in 0..all.len() {
        match next(at) {
            None => break,
            Some(other) if other.name == buffer.name => {
                return Err(format!("`{}` would share memory with itself", buffer.name));
            }
            Some(other) => at = other,
        }
    }
    for extent in buffer.extents() {
        let Some(name) = &extent.name else { continue };
        let same = all.iter().flat_map(|(_, other)| other.extents());
        let other = same
            .into_iter()
            .find(|other| other.is_named(name) && other.count != extent.count);
        if let Some(other) = other {
            return Err(format!(
                "the dimension `{name}` is {} here and {} elsewhere",
                extent.count, other.count
            ));
        }
    }
    Ok(())
}

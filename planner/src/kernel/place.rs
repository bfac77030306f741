//! Where named buffers are in the shared memory of a CTA.
//!
//! Static buffers come first, then the dynamic ones, each in the order in which they are named, each at a multiple of
//! its alignment. Buffers that share the memory of another begin where it does, one after the other, since they may be
//! alive at the same time; the memory is as long as the longer side. A line counts the bytes that no line before it
//! covers, so that the lines and the padding add up to the total.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::buffer::Buffer;
use crate::layout::{Component, padding};

/// Buffers in memory.
pub(super) struct Placed {
    /// The lines, which add up to the total.
    pub components: Vec<Component>,
    /// Bytes of the static buffers and the padding before them.
    pub static_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
}

/// Places the buffers, as many of those that are staged as there are stages.
pub(super) fn place(buffers: &[Buffer], stages: u32) -> Placed {
    let mut offsets = alloc::vec![0; buffers.len()];
    let mut end = 0;
    let mut static_bytes = 0;
    for is_static in [true, false] {
        for (index, buffer) in buffers.iter().enumerate() {
            if buffer.is_static == is_static && buffer.over.is_none() {
                end = place_at(buffers, stages, index, end, &mut offsets);
            }
        }
        if is_static {
            static_bytes = end;
        }
    }
    let mut covered: Vec<(u64, u64)> = Vec::new();
    let line = |(buffer, offset): (&Buffer, &u64)| {
        let bytes = buffer.bytes(stages);
        let own = cover(&mut covered, *offset, *offset + bytes);
        Component {
            name: Cow::Owned(buffer.name.clone()),
            bytes: own,
            per_stage: buffer.staged.then(|| buffer.stage_bytes()),
            offset: *offset,
            overlaid_bytes: bytes - own,
            shape: Some(buffer.shape()),
        }
    };
    let mut components: Vec<Component> = buffers.iter().zip(&offsets).map(line).collect();
    components.extend(padding(&components, end));
    Placed {
        components,
        static_bytes,
        total_bytes: end,
    }
}

/// Places a buffer at `from` or after, and those over it at its begin. Returns where the last of them ends.
///
/// No chain of buffers over each other comes back to itself: [`parse`](super::parse) refuses it.
fn place_at(buffers: &[Buffer], stages: u32, index: usize, from: u64, offsets: &mut [u64]) -> u64 {
    let buffer = &buffers[index];
    let offset = from.next_multiple_of(buffer.align.into());
    offsets[index] = offset;
    let mut end_over = offset;
    for (other, over) in buffers.iter().enumerate() {
        if over.over.as_deref() == Some(&*buffer.name) {
            end_over = place_at(buffers, stages, other, end_over, offsets);
        }
    }
    end_over.max(offset + buffer.bytes(stages))
}

/// Adds a stretch to those that are covered. Returns how much of it was not.
fn cover(covered: &mut Vec<(u64, u64)>, begin: u64, end: u64) -> u64 {
    let overlap = |(from, to): &(u64, u64)| (*to).min(end).saturating_sub((*from).max(begin));
    let known: u64 = covered.iter().map(overlap).sum();
    let (mut from, mut to) = (begin, end);
    covered.retain(|&(other_from, other_to)| {
        let touches = other_from <= to && from <= other_to;
        if touches {
            (from, to) = (from.min(other_from), to.max(other_to));
        }
        !touches
    });
    covered.push((from, to));
    end - begin - known
}

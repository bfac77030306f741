//! Plan, prepare, enqueue: products on the caller's buffers and streams, captured into graphs, and what is refused.
//!
//! All run under compute-sanitizer's memcheck; `TILEWRIGHT_SHAPES=small` has fewer replays.

mod driver;
mod graph;
mod lifetime;
mod products;
mod refused;
mod streams;

use crate::trial::Trial;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("enqueue::graph_of_every_kind", graph::every_kind_of_product),
        Trial::test(
            "enqueue::graph_reads_the_bias_and_c_anew",
            graph::reads_the_bias_and_c_anew,
        ),
        Trial::test("enqueue::two_streams_from_two_threads", streams::two_threads),
        Trial::test("enqueue::one_workspace_for_one_stream", streams::one_workspace),
        Trial::test("enqueue::prepares_and_drops_leak_nothing", lifetime::prepares_and_drops).alone(),
        Trial::test("enqueue::the_primary_context_is_shared", lifetime::primary_context),
        Trial::test("enqueue::another_context_is_used", lifetime::other_context),
        Trial::test("enqueue::memory_of_every_kind", lifetime::memory_of_every_kind),
        Trial::test("enqueue::refuses_bad_operands", refused::outside_of_a_capture),
        Trial::test("enqueue::refuses_bad_operands_in_a_capture", refused::in_a_capture),
        Trial::test(
            "enqueue::refuses_what_the_kernel_has_not",
            refused::what_the_kernel_has_not,
        ),
        Trial::test("enqueue::what_the_checks_take", refused::what_the_checks_take),
    ]
}

/// How often something is repeated: a tool that watches every access takes very long.
fn rounds(all: usize) -> usize {
    if crate::kernels::small() { all.div_ceil(20) } else { all }
}

//! Requests and the templates that they come to.

use tilewright_plan::{Request, Template, Worksheet, report};

/// The request that asks for this template and leaves nothing open; `base` has what a template does not.
pub fn of_template(template: &Template, base: &Request) -> Request {
    Request {
        dtype: template.ty,
        tile: Some(template.tile),
        stages: Some(template.stages),
        path: Some(template.path),
        accumulator: Some(template.accumulator),
        accumulator_buffers: Some(template.accumulator_buffers),
        epilogue: Some(template.epilogue),
        warps: Some(template.warps),
        producer_warps: Some(template.producer_warps),
        frontend: Some(template.frontend),
        widening: Some(template.widening),
        output_bytes: Some(template.output_bytes),
        static_bytes: Some(template.static_bytes),
        scratch_per_warp_bytes: Some(template.scratch_per_warp_bytes),
        split_k: Some(template.split_k),
        cluster: Some(template.cluster),
        registers_per_thread: template.registers_per_thread,
        ..base.clone()
    }
}

/// The request that asks for what moves led to, with as much left open as `request` leaves.
pub fn after_moves(request: &Request, before: &Worksheet, after: &Worksheet) -> Request {
    let (from, to) = (
        of_template(&before.template, request),
        of_template(&after.template, request),
    );
    /// What moved, or what was asked for.
    fn moved<T: PartialEq>(from: Option<T>, to: Option<T>, asked: Option<T>) -> Option<T> {
        if from == to { asked } else { to }
    }
    let sparse = Request {
        tile: to.tile,
        stages: to.stages,
        accumulator: moved(from.accumulator, to.accumulator, request.accumulator),
        epilogue: moved(from.epilogue, to.epilogue, request.epilogue),
        widening: moved(from.widening, to.widening, request.widening),
        split_k: moved(from.split_k, to.split_k, request.split_k),
        warps: moved(from.warps, to.warps, request.warps),
        producer_warps: moved(from.producer_warps, to.producer_warps, request.producer_warps),
        ..request.clone()
    };
    // What is usual for one tile may not be for another.
    let same = report(&sparse).is_ok_and(|report| report.worksheet.template == after.template);
    if same { sparse } else { to }
}

//! The kernels as functions of the host, for the simulator: found by their symbol, as the driver finds them in PTX.
//!
//! Each rung's `rows!` adds to the table, so it lists what is compiled and nothing else.

use core::any::Any;

use tilewright_contract::{Epilogue, GemmArgs, GemmCall, GemmParams, TileParts};

use crate::element::Element;
use crate::primitives::tensor_map::TensorMap;
use crate::rungs;

/// A kernel with elements of `E`, by what it takes.
#[derive(Clone, Copy, Debug)]
pub enum EntryPoint<E> {
    /// The parameters alone.
    Params(unsafe fn(&GemmParams<E>)),
    /// The parameters and tensor maps of A, B and C.
    ParamsAndMaps(unsafe fn(&GemmParams<E>, &TensorMap, &TensorMap, &TensorMap)),
    /// A, B, C and their extents.
    Plain(unsafe fn(*const E, *const E, *mut E, GemmArgs)),
    /// And how to carve the dynamic shared memory.
    Parts(unsafe fn(*const E, *const E, *mut E, GemmArgs, TileParts)),
    /// The whole of a call, with the workspace and the counters of its slices.
    Call(unsafe fn(*const E, *const E, *mut E, GemmCall, *mut E, *mut u32)),
    /// Tensor maps in place of A and B, one of C beside C, and the whole of a call.
    Maps(WithMaps<E>),
    /// The whole of a call, and what follows the sums. C is of f32 where that says so.
    Tensor(unsafe fn(*const E, *const E, *mut E, GemmCall, Epilogue<E>)),
}

/// A kernel that takes tensor maps of A, B and C, C, the call, what becomes of the sums, and the workspace and the
/// counters of its slices.
pub type WithMaps<E> = unsafe fn(&TensorMap, &TensorMap, &TensorMap, *mut E, GemmCall, Epilogue<E>, *mut f32, *mut u32);

/// What kernels get for maps that take none.
pub static NO_MAPS: [TensorMap; 3] = [TensorMap::from_words([0; 16]); 3];

/// What the kinds of kernels take besides A, B and C; each takes its part.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a, E> {
    /// Extents, leading dimensions, factors, slices.
    pub call: GemmCall,
    /// How to carve the dynamic shared memory.
    pub parts: TileParts,
    /// Tensor maps of A, B and C; not looked at by kernels that take none.
    pub maps: &'a [TensorMap; 3],
    /// Partial sums of the slices; may be null without slices.
    pub workspace: *mut f32,
    /// A counter for each tile; may be null without slices.
    pub counters: *mut u32,
    /// What follows the sums.
    pub epilogue: Epilogue<E>,
}

impl<E> EntryPoint<E> {
    /// Calls the kernel as one thread.
    ///
    /// # Safety
    /// As for the kernel. The caller is a thread of a simulated launch.
    #[inline(always)]
    pub unsafe fn call(self, a: *const E, b: *const E, c: *mut E, arguments: Arguments<'_, E>) {
        let Arguments {
            call,
            parts,
            maps: [map_a, map_b, map_c],
            workspace,
            counters,
            epilogue,
        } = arguments;
        let params = || GemmParams {
            bias: epilogue.bias,
            workspace,
            counters,
            alpha: call.alpha,
            beta: call.beta,
            group_m: call.group_m,
            splits: call.splits,
            k_per_split: call.k_per_split,
            tile_width: parts.tile_width,
            a_part: parts.a_part,
            b_part: parts.b_part,
            activation: epilogue.activation,
            output: epilogue.output,
            ..GemmParams::product(a, b, c, call.args)
        };
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Params(kernel) => kernel(&params()),
                Self::ParamsAndMaps(kernel) => kernel(&params(), map_a, map_b, map_c),
                Self::Plain(kernel) => kernel(a, b, c, call.args),
                Self::Parts(kernel) => kernel(a, b, c, call.args, parts),
                // The kernels with slices are of f32.
                Self::Call(kernel) => kernel(a, b, c, call, workspace.cast(), counters),
                Self::Maps(kernel) => kernel(map_a, map_b, map_c, c, call, epilogue, workspace, counters),
                Self::Tensor(kernel) => kernel(a, b, c, call, epilogue),
            }
        }
    }
}

/// A kernel of a table.
pub(crate) struct Row {
    /// The symbol in PTX.
    pub(crate) symbol: &'static str,
    /// An [`EntryPoint`] of its element type.
    pub(crate) entry_point: &'static (dyn Any + Send + Sync),
}

/// A part of a table: which kind of kernel, the symbols and their elements.
macro_rules! rows {
    (Params: $($symbol:ident: $element:ty;)*) => {
        $crate::host::rows! { @list $($symbol: $element, EntryPoint::Params(params);)* }
    };
    (ParamsAndMaps: $($symbol:ident: $element:ty;)*) => {
        $crate::host::rows! { @list $(
            $symbol: $element, EntryPoint::ParamsAndMaps(params, map_a, map_b, map_c);
        )* }
    };
    (Plain: $($symbol:ident: $element:ty;)*) => {
        $crate::host::rows! { @list $($symbol: $element, EntryPoint::Plain(a, b, c, args);)* }
    };
    (Parts: $($symbol:ident: $element:ty;)*) => {
        $crate::host::rows! { @list $($symbol: $element, EntryPoint::Parts(a, b, c, args, parts);)* }
    };
    (Call: $($symbol:ident: $element:ty;)*) => {
        $crate::host::rows! { @list $($symbol: $element, EntryPoint::Call(a, b, c, call, workspace, counters);)* }
    };
    (Maps: $($symbol:ident: $element:ty;)*) => {
        $crate::host::rows! { @list $(
            $symbol: $element, EntryPoint::Maps(map_a, map_b, map_c, c, call, epilogue, workspace, counters);
        )* }
    };
    (Tensor: $($symbol:ident: $element:ty;)*) => {
        $crate::host::rows! { @list $($symbol: $element, EntryPoint::Tensor(a, b, c, call, epilogue);)* }
    };
    (@list $($symbol:ident: $element:ty, $kind:ident::$variant:ident($($argument:ident),*);)*) => {
        /// These kernels as functions of the host.
        pub(crate) const HOST_ROWS: &[$crate::host::Row] = &[$($crate::host::Row {
            symbol: stringify!($symbol),
            entry_point: &$crate::host::$kind::$variant::<$element>(|$($argument),*| {
                // SAFETY: the promise of whoever calls an entry point.
                unsafe { $symbol($($argument),*) }
            }),
        }),*];
    };
}

pub(crate) use rows;

fn rungs() -> impl Iterator<Item = &'static Row> {
    rungs::HOST_ROWS.into_iter().flatten()
}

/// The symbols of all kernels of the ladder.
pub fn symbols() -> impl Iterator<Item = &'static str> {
    rungs().map(|row| row.symbol)
}

/// The kernel of this symbol; `None` where there is none, or one of another element type.
pub fn find<E: Element>(symbol: &str) -> Option<EntryPoint<E>> {
    let row = rungs().find(|row| row.symbol == symbol)?;
    row.entry_point.downcast_ref().copied()
}

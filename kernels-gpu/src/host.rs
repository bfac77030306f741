//! The kernels as functions of the host, for the simulator: found by their symbol, as the driver finds them in PTX.
//!
//! Each rung's `rows!` adds to the table, so it lists what is compiled and nothing else.

use core::any::Any;

use tilewright_contract::GemmParams;

use crate::element::Element;
use crate::primitives::tensor_map::TensorMap;
use crate::rungs;

/// A kernel with elements of `E`: one of the two signatures that there are.
#[derive(Clone, Copy, Debug)]
pub enum EntryPoint<E> {
    /// The parameters alone.
    Params(unsafe fn(&GemmParams<E>)),
    /// The parameters and tensor maps of A, B and C.
    ParamsAndMaps(unsafe fn(&GemmParams<E>, &TensorMap, &TensorMap, &TensorMap)),
}

impl<E> EntryPoint<E> {
    /// Calls the kernel as one thread.
    ///
    /// # Panics
    /// If it takes tensor maps and there are none.
    ///
    /// # Safety
    /// As for the kernel. The caller is a thread of a simulated launch.
    #[inline(always)]
    pub unsafe fn call(self, params: &GemmParams<E>, maps: Option<&[TensorMap; 3]>) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Params(kernel) => kernel(params),
                Self::ParamsAndMaps(kernel) => {
                    let [a, b, c] = maps.expect("the kernel takes tensor maps");
                    kernel(params, a, b, c);
                }
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

//! Calling a kernel with arguments that are data.

use tilewright_contract::{Bytes, GemmArgs, GemmParams, PadRows};

use crate::ptx::tensor_map::TensorMap;

/// An argument of a launch in the simulator.
#[derive(Clone, Debug)]
pub enum Value {
    /// A value of one or more 32-bit words.
    Words(Vec<u32>),
    /// The address of a buffer.
    Address(*mut u8),
    /// A tensor map.
    Map(Box<TensorMap>),
    /// The parameters of a product, whose layout is the same for every element.
    Params(Box<GemmParams<u8>>),
}

// SAFETY: an address is given to kernels, which are unsafe to call.
unsafe impl Sync for Value {}

impl Value {
    /// The parameters of a product from their fields: the addresses in their order, then all words.
    pub(crate) fn params(fields: &[Value]) -> Self {
        let [a, b, c, bias, workspace, counters, group_ends, rest] = fields else {
            panic!("{} fields", fields.len())
        };
        let [
            a_low,
            a_high,
            b_low,
            b_high,
            c_low,
            c_high,
            m,
            n,
            k,
            lda,
            ldb,
            ldc,
            alpha,
            beta,
            rest @ ..,
        ] = words::<22>(rest).expect("22 words");
        let wide = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        let [batch, splits, k_per_split, tile_width, a_part, b_part, 0, 0] = rest else {
            panic!("an activation or another type of C")
        };
        Self::Params(Box::new(GemmParams {
            bias: bias.get(),
            workspace: workspace.get(),
            counters: counters.get(),
            group_ends: group_ends.get(),
            stride_a: wide(a_low, a_high),
            stride_b: wide(b_low, b_high),
            stride_c: wide(c_low, c_high),
            alpha: f32::from_bits(alpha),
            beta: f32::from_bits(beta),
            batch,
            splits,
            k_per_split,
            tile_width,
            a_part: Bytes(a_part),
            b_part: Bytes(b_part),
            ..GemmParams::product(a.get(), b.get(), c.get(), GemmArgs { m, n, k, lda, ldb, ldc })
        }))
    }

    /// The argument as the kernel's parameter has it.
    pub(crate) fn get<'value, P: Parameter<'value>>(&'value self) -> P {
        P::from_value(self).unwrap_or_else(|| {
            panic!(
                "the case has {self:?} where the kernel takes a {}",
                std::any::type_name::<P>()
            )
        })
    }
}

/// A kernel, called with the arguments of its case.
///
/// Each is a closure over an unsafe call: whoever runs one answers for the arguments, as for a launch.
pub type Call = fn(&[Value]);

/// A type that kernels take.
pub(crate) trait Parameter<'value>: Sized {
    /// The parameter, if the value is of its form.
    fn from_value(value: &'value Value) -> Option<Self>;
}

impl<T> Parameter<'_> for *const T {
    fn from_value(value: &Value) -> Option<Self> {
        <*mut T>::from_value(value).map(<*mut T>::cast_const)
    }
}

impl<T> Parameter<'_> for *mut T {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Address(address) => Some(address.cast()),
            Value::Words(words) if words == &[0; 2] => Some(core::ptr::null_mut()),
            _ => None,
        }
    }
}

impl<'value> Parameter<'value> for &'value TensorMap {
    fn from_value(value: &'value Value) -> Option<Self> {
        match value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }
}

impl<'value, E> Parameter<'value> for &'value GemmParams<E> {
    fn from_value(value: &'value Value) -> Option<Self> {
        match value {
            // SAFETY: the layout does not depend on the element; who calls a kernel answers for what addresses it gets.
            Value::Params(params) => Some(unsafe { &*(&raw const **params).cast() }),
            _ => None,
        }
    }
}

fn words<const N: usize>(value: &Value) -> Option<[u32; N]> {
    match value {
        Value::Words(words) => words.as_slice().try_into().ok(),
        _ => None,
    }
}

impl Parameter<'_> for u32 {
    fn from_value(value: &Value) -> Option<Self> {
        words(value).map(|[word]| word)
    }
}

impl Parameter<'_> for PadRows {
    fn from_value(value: &Value) -> Option<Self> {
        let [0, 0, rows, columns, from_ld, to_ld, matrices, 0] = words(value)? else {
            return None;
        };
        Some(Self {
            from_stride: 0,
            rows,
            columns,
            from_ld,
            to_ld,
            matrices,
        })
    }
}

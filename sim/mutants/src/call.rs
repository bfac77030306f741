//! Calling a kernel with arguments that are data.

use std::mem::offset_of;

use tilewright_contract::{BlockScaledParams, CopyRows, Fp8, Fp8Params, Fp8QuantizeParams, GemmArgs, GemmParams};

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
    /// The other parameters of an FP8 product.
    Fp8(Box<Fp8Params>),
    /// The parameters of a quantization to FP8.
    Fp8Quantize(Box<Fp8QuantizeParams>),
}

// SAFETY: an address is given to kernels, which are unsafe to call.
unsafe impl Sync for Value {}

impl Value {
    /// The parameters of a product from their fields: the addresses in their order, then all words.
    pub(crate) fn params(fields: &[Value]) -> Self {
        let [a, b, c, bias, workspace, counters, group_ends, Value::Words(rest)] = fields else {
            panic!("{} fields", fields.len())
        };
        let begin = offset_of!(GemmParams<u8>, stride_a);
        assert_eq!(begin + 4 * rest.len(), size_of::<GemmParams<u8>>(), "not all fields");
        assert!(rest.ends_with(&[0; 2]), "an activation or another type of C");
        let extents = GemmArgs {
            m: 0,
            n: 0,
            k: 0,
            lda: 0,
            ldb: 0,
            ldc: 0,
        };
        let mut params = GemmParams {
            bias: bias.get(),
            workspace: workspace.get(),
            counters: counters.get(),
            group_ends: group_ends.get(),
            ..GemmParams::product(a.get(), b.get(), c.get(), extents)
        };
        // SAFETY: these are all fields from there on, as they are in memory; any bits are numbers, and those of the two
        // enums, the last ones, are a variant of each.
        unsafe {
            let fields = (&raw mut params).byte_add(begin).cast::<u32>();
            fields.copy_from_nonoverlapping(rest.as_ptr(), rest.len());
        }
        Self::Params(Box::new(params))
    }

    /// The other parameters of an FP8 product: its words with these addresses of scales in place of null; `None` of any
    /// other argument.
    pub(crate) fn fp8(scales: [&Value; 2], argument: &Value) -> Option<Self> {
        const WORDS: usize = size_of::<Fp8Params>() / 4;
        let [0, 0, 0, 0, row_stride, column_stride, block_ld, 0] = words::<WORDS>(argument)? else {
            return None;
        };
        Some(Self::Fp8(Box::new(Fp8Params {
            scales: scales.map(|scales| scales.get()),
            row_strides: [row_stride, column_stride],
            block_ld,
        })))
    }

    /// The parameters of a quantization to e4m3: four addresses, then its words; `None` of any other fields.
    pub(crate) fn fp8_quantize(fields: &[Value]) -> Option<Self> {
        let [source, data, scales, partials, rest] = fields else {
            return None;
        };
        let [rows, k, ld, scale_ld, splits, 0] = words(rest)? else {
            return None;
        };
        Some(Self::Fp8Quantize(Box::new(Fp8QuantizeParams {
            source: source.get(),
            data: data.get(),
            scales: scales.get(),
            partials: partials.get(),
            rows,
            k,
            ld,
            scale_ld,
            splits,
            format: Fp8::E4m3,
        })))
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

impl<'value> Parameter<'value> for &'value BlockScaledParams {
    fn from_value(value: &'value Value) -> Option<Self> {
        let Value::Words(words) = value else { return None };
        let params = words.as_ptr().cast::<BlockScaledParams>();
        let fits = size_of_val(&words[..]) == size_of::<BlockScaledParams>() && params.is_aligned();
        // SAFETY: as many bytes, aligned; any bits are addresses and numbers, and who calls a kernel answers for them.
        fits.then(|| unsafe { &*params })
    }
}

impl<'value> Parameter<'value> for &'value Fp8Params {
    fn from_value(value: &'value Value) -> Option<Self> {
        match value {
            Value::Fp8(params) => Some(params),
            _ => None,
        }
    }
}

impl<'value> Parameter<'value> for &'value Fp8QuantizeParams {
    fn from_value(value: &'value Value) -> Option<Self> {
        match value {
            Value::Fp8Quantize(params) => Some(params),
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

impl Parameter<'_> for CopyRows {
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

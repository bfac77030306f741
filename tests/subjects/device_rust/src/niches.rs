//! Types whose invalid values stand for other variants.

use core::cmp::Ordering;
use core::num::{NonZero, NonZeroI8, NonZeroU16, NonZeroU64};

subject! {
    /// `Option<NonZero<_>>` of several widths.
    fn nonzero(input: &[u64; 8], output: &mut [u64; 8]) {
        *output = core::array::from_fn(|i| {
            let x = input[i];
            let wide = NonZeroU64::new(x);
            let half = NonZeroU16::new(x as u16);
            let signed = NonZeroI8::new(x as i8);
            match (wide, half, signed) {
                (None, ..) => 1,
                (_, None, _) => 2,
                (Some(wide), _, None) => u64::from(wide.leading_zeros()) << 8,
                (Some(wide), Some(half), Some(signed)) => {
                    wide.get() / NonZero::<u64>::from(half) ^ (signed.unsigned_abs().get() as u64) << 56
                }
            }
        });
    }
}

subject! {
    /// `Option<Option<bool>>`: four values in a byte.
    fn nested_option_bool(input: &[u64; 16], output: &mut [u64; 16]) {
        let values: [Option<Option<bool>>; 16] = input.map(|x| match x % 4 {
            0 => None,
            1 => Some(None),
            2 => Some(Some(false)),
            _ => Some(Some(true)),
        });
        for i in 0..16 {
            output[i] = match values[(i + input[0] as usize % 16) % 16] {
                None => 10,
                Some(None) => 11,
                Some(Some(b)) => 12 + u64::from(b),
            } + u64::from(values[i].flatten().is_some());
        }
    }
}

subject! {
    /// `Option<Option<Option<char>>>`: values beyond the last char.
    fn nested_option_char(input: &[u64; 16], output: &mut [u64; 16]) {
        let values: [Option<Option<Option<char>>>; 16] = input.map(|x| match x % 5 {
            0 => None,
            1 => Some(None),
            2 => Some(Some(None)),
            _ => Some(Some(char::from_u32((x >> 8) as u32 & 0x1f_ffff))),
        });
        for (out, value) in output.iter_mut().zip(&values) {
            *out = match value {
                None => 1,
                Some(None) => 2,
                Some(Some(None)) => 3,
                Some(Some(Some(c))) => u64::from(u32::from(*c)) << 4,
            };
        }
    }
}

subject! {
    /// `Option<Ordering>` from partial comparison of floats.
    fn option_ordering(input: &[u64; 16], output: &mut [u64; 15]) {
        for (out, pair) in output.iter_mut().zip(input.windows(2)) {
            let order = f64::from_bits(pair[0]).partial_cmp(&f64::from_bits(pair[1]));
            *out = match order.map(Ordering::reverse) {
                None => 0,
                Some(Ordering::Less) => 1,
                Some(Ordering::Equal) => 2,
                Some(Ordering::Greater) => 3,
            };
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    Empty,
    Flag(bool),
    Letter(char),
    Inner(Inner),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Inner {
    Order(Ordering),
    Byte(u8),
}

fn shape(x: u64) -> Shape {
    match x % 5 {
        0 => Shape::Empty,
        1 => Shape::Flag(x >> 8 & 1 == 1),
        2 => Shape::Letter(char::from_u32((x >> 8) as u32 % 0xd800).unwrap_or('?')),
        3 => Shape::Inner(Inner::Order((x >> 8 & 3).cmp(&1))),
        _ => Shape::Inner(Inner::Byte((x >> 8) as u8)),
    }
}

subject! {
    /// Enums in enums that share one tag.
    fn enum_niches(input: &[u64; 16], output: &mut [u64; 16]) {
        let shapes = input.map(shape);
        for (i, out) in output.iter_mut().enumerate() {
            *out = match shapes[(i * 7 + 3) % 16] {
                Shape::Empty => 1,
                Shape::Flag(flag) => 2 + u64::from(flag),
                Shape::Letter(letter) => u64::from(letter) << 8,
                Shape::Inner(Inner::Order(order)) => 0x700 ^ order as i8 as u64,
                Shape::Inner(Inner::Byte(byte)) => 1000 + u64::from(byte),
            };
        }
    }
}

subject! {
    /// Derived order of such enums: sort and compare.
    fn enum_niches_sorted(input: &[u64; 24], output: &mut [u64; 24]) {
        let mut shapes: [(Shape, usize); 24] = core::array::from_fn(|i| (shape(input[i]), i));
        shapes.sort();
        *output = shapes.map(|(shape, i)| i as u64 | u64::from(shape > Shape::Flag(true)) << 32);
    }
}

#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq)]
enum Gap {
    Three = 3,
    Seven = 7,
    Last = 255,
}

subject! {
    /// `Option` of an enum with gaps between its discriminants.
    fn enum_gaps(input: &[u64; 16], output: &mut [u64; 16]) {
        let gap = |x: u64| match x % 6 {
            0 | 1 => Some(Gap::Three),
            2 => Some(Gap::Seven),
            3 => Some(Gap::Last),
            _ => None,
        };
        let gaps = input.map(gap);
        for i in 0..16 {
            output[i] = gaps[i].map_or(1000, |gap| gap as u64) * (1 + u64::from(gaps[i] == gaps[(i + 1) % 16]));
        }
    }
}

subject! {
    /// `Result<u8, bool>` and `Result<(), NonZero>`: tags beside and inside the payload.
    fn results(input: &[u64; 16], output: &mut [u64; 16]) {
        let parse = |x: u64| -> Result<u8, bool> { u8::try_from(x).map_err(|_| x >> 63 == 1) };
        let check = |x: u64| -> Result<(), NonZeroU64> { NonZeroU64::new(x / 3).map_or(Ok(()), Err) };
        for (out, x) in output.iter_mut().zip(input) {
            let parsed = match parse(*x) {
                Ok(byte) => u64::from(byte),
                Err(large) => 256 + u64::from(large),
            };
            *out = check(*x).map_or_else(|error| error.get() ^ parsed, |()| parsed << 32);
        }
    }
}

subject! {
    /// `Option<Ordering>`, `Option<bool>` and `Option<NonZero>` in one packed struct, moved around.
    fn struct_of_niches(input: &[u64; 12], output: &mut [u64; 12]) {
        #[derive(Clone, Copy, Default)]
        struct Niches {
            order: Option<Ordering>,
            flag: Option<bool>,
            small: Option<NonZero<u8>>,
            wide: Option<NonZero<u128>>,
        }
        let mut all = [Niches::default(); 12];
        for (i, x) in input.iter().enumerate() {
            let place = &mut all[(i + *x as usize % 3) % 12];
            place.order = (x & 8 == 0).then(|| x.cmp(&1000));
            place.flag = (x & 16 == 0).then_some(x & 32 == 0);
            place.small = NonZero::new(*x as u8);
            place.wide = NonZero::new(u128::from(*x) << 70);
        }
        *output = all.map(|n| {
            n.order.map_or(7, |order| order as i8 as u64 & 3)
                | n.flag.map_or(0, |flag| 8 << u64::from(flag))
                | n.small.map_or(0, |small| u64::from(small.get()) << 8)
                | n.wide.map_or(0, |wide| (wide.get() >> 80) as u64) << 16
        });
    }
}

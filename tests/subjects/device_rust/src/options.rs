//! `None` of references into local and shared memory: null must stay null, whatever the address space of the others.

use core::ptr::NonNull;

#[inline(never)]
pub(crate) fn show(x: Option<&u32>) -> u64 {
    match x {
        Some(x) => u64::from(*x),
        None => 1000,
    }
}

#[inline(never)]
fn bump(x: Option<&mut u32>) -> u64 {
    match x {
        Some(x) => {
            *x = x.wrapping_add(1);
            u64::from(*x)
        }
        None => 2000,
    }
}

/// Low halves of the words, in local memory where the caller keeps them.
fn halves<const N: usize>(input: &[u64; N]) -> [u32; N] {
    input.map(|x| x as u32)
}

subject_of_place! {
    /// A reference or `None` per element, passed on and inspected.
    fn option_reference, shared_option_reference(input: &[u64; 64], place: [u32; 64] = 0, output: &mut [u64; 64]) {
        *place = halves(input);
        for k in 0..64 {
            let last = (input[k] >> 32) & 1 == 0;
            let last: Option<&u32> = if last { Some(&place[k]) } else { None };
            let extra = match last {
                Some(x) if *x > 100 => 7,
                _ => 0,
            };
            output[k] = show(last) + extra;
        }
    }
}

subject_of_place! {
    /// The same, carried from one iteration to the next, and compared.
    fn option_reference_carried, shared_option_carried(
        input: &[u64; 32], place: [u32; 32] = 0, output: &mut [u64; 32]
    ) {
        *place = halves(input);
        let mut last: Option<&u32> = None;
        for k in 0..32 {
            output[k] = show(last) | u64::from(last == place.get(k)) << 40 | u64::from(last.is_some()) << 41;
            match input[k] % 3 {
                0 => last = None,
                1 => last = Some(&place[31 - k]),
                _ => {}
            }
        }
    }
}

subject! {
    /// References stored in an array, read in another order.
    fn option_reference_stored(input: &[u64; 32], output: &mut [u64; 32]) {
        let local = halves(input);
        let mut stored: [Option<&u32>; 32] = [None; 32];
        for k in 0..32 {
            if input[k] % 2 == 1 {
                stored[(input[k] >> 8) as usize % 32] = local.get(k);
            }
        }
        *output = core::array::from_fn(|k| show(stored[(5 * k + 1) % 32]));
    }
}

subject_of_place! {
    /// Mutable references, or `None`.
    fn option_mut_reference, shared_option_mut(input: &[u64; 32], place: [u32; 32] = 0, output: &mut [u64; 33]) {
        *place = halves(input);
        for k in 0..32 {
            let chosen = if input[k] % 3 == 0 {
                None
            } else {
                Some(&mut place[(input[k] >> 8) as usize % 32])
            };
            output[k] = bump(chosen);
            if let Some(x) = place.get_mut(input[k] as usize % 48) {
                *x ^= input[k] as u32;
            }
        }
        output[32] = crate::support::digest(place.map(u64::from));
    }
}

subject! {
    /// `get`, `first`, `last` and `get_mut` beyond the end.
    fn option_get(input: &[u64; 16], output: &mut [u64; 16]) {
        let mut local = halves(input);
        for k in 0..16 {
            let index = input[k] as usize % 24;
            let part = &local[..index.min(16)];
            let seen = show(part.first()) ^ show(part.last()) << 20 ^ show(local.get(index)) << 40;
            output[k] = seen ^ bump(local.get_mut(index));
        }
    }
}

subject! {
    /// Comparison of references, of what they point to, and with `None`.
    fn option_compared(input: &[u64; 32], output: &mut [u64; 32]) {
        let local: [u32; 32] = core::array::from_fn(|i| (input[i] % 4) as u32);
        let pick = |x: u64| {
            if x % 4 == 0 {
                None
            } else {
                Some(&local[(x >> 4) as usize % 32])
            }
        };
        for k in 0..32 {
            let (a, b) = (pick(input[k]), pick(input[31 - k].rotate_right(9)));
            let same = match (a, b) {
                (Some(a), Some(b)) => core::ptr::eq(a, b),
                (None, None) => true,
                _ => false,
            };
            output[k] = u64::from(same) | u64::from(a == b) << 1 | u64::from(a < b) << 2 | u64::from(a.is_none()) << 3;
        }
    }
}

#[derive(Clone, Copy)]
struct Pair<'a> {
    left: Option<&'a u32>,
    right: Option<&'a u32>,
    weight: u32,
}

#[inline(never)]
fn weigh(pair: Pair) -> u64 {
    show(pair.left)
        .wrapping_mul(3)
        .wrapping_add(show(pair.right))
        .wrapping_mul(u64::from(pair.weight))
}

subject! {
    /// References in a struct that is passed by value.
    fn option_in_struct(input: &[u64; 32], output: &mut [u64; 16]) {
        let local = halves(input);
        *output = core::array::from_fn(|k| {
            let x = input[k];
            let mut pair = Pair {
                left: None,
                right: Some(&local[k]),
                weight: local[16 + k],
            };
            if x & 1 == 0 {
                (pair.left, pair.right) = (pair.right, pair.left);
            }
            if x & 2 == 0 {
                pair.right = pair.right.or(local.get((x >> 8) as usize % 40));
            }
            weigh(pair)
        });
    }
}

enum Place<'a> {
    Nowhere,
    Local(&'a u32),
    Both(&'a u32, Option<&'a u32>),
}

#[inline(never)]
fn locate(place: &Place) -> u64 {
    match place {
        Place::Nowhere => 1,
        Place::Local(x) => u64::from(**x) << 1,
        Place::Both(x, y) => u64::from(**x) ^ show(*y) << 16,
    }
}

subject! {
    /// References in an enum.
    fn option_in_enum(input: &[u64; 24], output: &mut [u64; 24]) {
        let local = halves(input);
        *output = core::array::from_fn(|k| {
            let x = input[k];
            locate(&match x % 4 {
                0 => Place::Nowhere,
                1 => Place::Local(&local[k]),
                2 => Place::Both(&local[23 - k], None),
                _ => Place::Both(&local[k], local.get((x >> 8) as usize % 32)),
            })
        });
    }
}

subject_of_place! {
    /// `Option<NonNull>` and raw null pointers.
    fn option_non_null, shared_non_null(input: &[u64; 24], place: [u32; 24] = 3, output: &mut [u64; 24]) {
        let base = place.as_mut_ptr();
        for k in 0..24 {
            let raw = if input[k] % 3 == 0 {
                core::ptr::null_mut()
            } else {
                base.wrapping_add((input[k] >> 4) as usize % 24)
            };
            output[k] = match NonNull::new(raw) {
                // SAFETY: one of the 24 elements.
                Some(place) => unsafe {
                    *place.as_ptr() ^= input[k] as u32;
                    u64::from(place.read()) | u64::from(raw.is_null()) << 40
                },
                None => 3000 + u64::from(raw.is_null()),
            };
        }
    }
}

trait Measure {
    fn measure(&self) -> u64;
}

impl Measure for u32 {
    fn measure(&self) -> u64 {
        u64::from(*self) + 1
    }
}

impl<const N: usize> Measure for [u32; N] {
    fn measure(&self) -> u64 {
        self.iter().fold(N as u64, |a, b| a.wrapping_mul(3) ^ u64::from(*b))
    }
}

subject_of_place! {
    /// `Option<&dyn Trait>` of three types, one of which is local.
    fn option_dyn, shared_dyn(input: &[u64; 24], place: [u32; 24] = 0, output: &mut [u64; 24]) {
        *place = halves(input);
        let local = [input[0] as u32, input[1] as u32];
        let mut last: Option<&dyn Measure> = None;
        for k in 0..24 {
            output[k] = last.map_or(4000, Measure::measure);
            match input[k] % 5 {
                0 => last = None,
                1 => last = Some(&place[k]),
                2 => last = Some(&local),
                3 => last = Some(place),
                _ => {}
            }
        }
    }
}

subject! {
    /// `Option<fn>`: null of functions.
    fn option_fn(input: &[u64; 24], output: &mut [u64; 24]) {
        fn double(x: u64) -> u64 {
            x.wrapping_mul(2)
        }
        fn negate(x: u64) -> u64 {
            !x
        }
        let mut last: Option<fn(u64) -> u64> = None;
        for k in 0..24 {
            match input[k] % 4 {
                0 => last = None,
                1 => last = Some(double),
                2 => last = Some(negate),
                _ => {}
            }
            output[k] = last.map_or(5000, |f| f(input[k]));
        }
    }
}

struct Node<'a> {
    value: u32,
    next: Option<&'a Node<'a>>,
}

#[inline(never)]
fn walk(mut node: Option<&Node>) -> u64 {
    let mut sum = 17u64;
    while let Some(Node { value, next }) = node {
        sum = sum.wrapping_mul(31).wrapping_add(u64::from(*value));
        node = *next;
    }
    sum
}

subject! {
    /// A list of nodes on the stack, one per call of a recursion.
    fn list_on_stack(input: &[u64; 12], output: &mut [u64; 4]) {
        fn grow(values: &[u32], tail: Option<&Node>) -> u64 {
            match values {
                [] => walk(tail),
                [value, rest @ ..] => grow(
                    rest,
                    Some(&Node {
                        value: *value,
                        next: tail,
                    }),
                ),
            }
        }
        let local = halves(input);
        *output = core::array::from_fn(|k| grow(&local[..(input[k] >> 32) as usize % 13], None));
    }
}

#[derive(Clone, Copy)]
struct Link {
    value: u64,
    next: Option<NonNull<Link>>,
}

subject_of_place! {
    /// A list of pointers within an array, in an order of the input.
    fn list_in_array, shared_list(
        input: &[u64; 16], place: [Link; 16] = Link { value: 0, next: None }, output: &mut [u64; 16]
    ) {
        let base = NonNull::from(&mut *place).cast::<Link>();
        let mut head = None;
        for (k, x) in input.iter().enumerate() {
            if x & 1 == 0 || k % 3 == 0 {
                // SAFETY: element k of 16.
                unsafe {
                    let link = base.add(k);
                    link.write(Link { value: *x, next: head });
                    head = Some(link);
                }
            }
        }
        output.fill(0);
        let mut at = 0;
        while let Some(link) = head {
            // SAFETY: written above; each element is linked once, so the list ends.
            let Link { value, next } = unsafe { link.read() };
            output[at] = value.wrapping_add(at as u64) ^ u64::from(next.is_none());
            head = next;
            at += 1;
        }
    }
}

subject! {
    /// Reversal of a singly linked list of mutable references.
    fn list_reversed(input: &[u64; 4], output: &mut [u64; 4]) {
        struct Cell<'a> {
            value: u64,
            next: Option<&'a mut Cell<'a>>,
        }
        let mut d = Cell {
            value: input[3],
            next: None,
        };
        let mut c = Cell {
            value: input[2],
            next: (input[3] % 3 != 0).then_some(&mut d),
        };
        let mut b = Cell {
            value: input[1],
            next: (input[2] % 3 != 0).then_some(&mut c),
        };
        let a = Cell {
            value: input[0],
            next: (input[1] % 3 != 0).then_some(&mut b),
        };
        output.fill(6000);
        let mut node = Some(&a);
        let mut at = 0;
        while let Some(cell) = node {
            output[at] = cell.value ^ u64::from(cell.next.is_none());
            at += 1;
            node = cell.next.as_deref();
        }
    }
}

#[inline(never)]
fn sum(slice: Option<&[u32]>) -> u64 {
    slice.map_or(7000, |slice| {
        slice
            .iter()
            .fold(slice.len() as u64, |a, b| a.wrapping_mul(7) + u64::from(*b) % 1000)
    })
}

subject_of_place! {
    /// `Option<&[T]>` and `Option<&str>`: null beside a length.
    fn option_slice, shared_option_slice(input: &[u64; 24], place: [u32; 24] = 0, output: &mut [u64; 24]) {
        *place = halves(input);
        *output = core::array::from_fn(|k| {
            let (from, to) = (input[k] as usize % 24, (input[k] >> 8) as usize % 30);
            let text = "seven".get(from % 8..to % 8);
            (sum(place.get(from..to)) << 8).wrapping_add(text.map_or(99, |text| text.len() as u64))
        });
    }
}

subject! {
    /// Combinators on references: filter, zip, xor, replace, take, insert.
    fn option_combinators(input: &[u64; 16], output: &mut [u64; 16]) {
        let local = halves(input);
        let mut kept: Option<&u32> = None;
        for k in 0..16 {
            let x = local.get((input[k] >> 32) as usize % 20);
            let odd = x.filter(|x| **x % 2 == 1);
            let other = kept.xor(odd);
            output[k] = show(other) ^ odd.zip(kept).map_or(1, |(a, b)| u64::from(a ^ b)) << 32;
            match input[k] % 5 {
                0 => kept = x,
                1 => output[k] = !show(kept.take()),
                2 => output[k] ^= show(kept.replace(&local[k])),
                3 => output[k] ^= u64::from(**kept.get_or_insert(&local[15 - k])),
                _ => kept = kept.and(odd),
            }
        }
    }
}

subject! {
    /// A place that is local, global or none: a choice between address spaces.
    fn option_of_spaces(input: &[u64; 24], output: &mut [u64; 24]) {
        static TABLE: [u64; 4] = [11, 22, 33, 44];
        #[inline(never)]
        fn read(x: Option<&u64>) -> u64 {
            x.copied().unwrap_or(8000)
        }
        let local = input.map(|x| x ^ 5);
        *output = core::array::from_fn(|k| {
            let x = input[k];
            read(match x % 4 {
                0 => None,
                1 => Some(&local[23 - k]),
                2 => Some(&input[(x >> 8) as usize % 24]),
                _ => Some(&TABLE[(x >> 8) as usize % 4]),
            })
        });
    }
}

subject! {
    /// `Option<&Option<&u32>>`: two levels of null.
    fn option_nested_reference(input: &[u64; 24], output: &mut [u64; 24]) {
        let local = halves(input);
        let inner: [Option<&u32>; 24] = core::array::from_fn(|k| (input[k] % 2 == 0).then_some(&local[k]));
        *output = core::array::from_fn(|k| {
            let outer = inner.get((input[k] >> 8) as usize % 32);
            match outer {
                None => 1,
                Some(None) => 2,
                Some(Some(x)) => u64::from(**x) << 2,
            }
        });
    }
}

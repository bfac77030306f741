//! Made of: structure, trait_object, early_return.
//! Inputs: seed 2026, program 7208
//! Fails with: the repository's toolchain, --opt 3
//! Seen: fault: access of 1 bytes out of bounds at 0x0 in constant memory

trait Shape7 {
    fn area(&self, by: u64) -> u64;
    fn name(&self) -> u64 {
        5
    }
}
struct Left8(i32);
struct Right9<'a> {
    at: &'a u64,
    y: i32,
}
impl Shape7 for Left8 {
    #[inline]
    fn area(&self, by: u64) -> u64 {
        self.0.word().wrapping_mul(by)
    }
}
impl Shape7 for Right9<'_> {
    fn area(&self, by: u64) -> u64 {
        self.y.word() ^ *self.at ^ by
    }
    fn name(&self) -> u64 {
        9
    }
}
fn search14<'a>(list: &'a [u8; 8], wanted: u8) -> Option<&'a u8> {
    let mut rounds = 0usize;
    'outer: for mask in [7u8, 1] {
        for (i, x) in list.iter().enumerate() {
            rounds += 1;
            if *x == u8::MIN {
                continue 'outer;
            }
            if *x & mask == wanted & mask {
                return Some(x);
            }
            if rounds > 12 {
                break 'outer;
            }
        }
    }
    None
}
constant!(TABLE15: [u8; 8] = [4, 11, 11, 32, 64, 98, 32, 32]);
pub fn program(input: &[u64; 8], output: &mut [u64; 8]) {
    let v1: u64 = 0u64;
    let mut v2: i32 = 0i32;
    let mut memory10 = [<u64>::default(); 4];
    let left11 = Left8(v2);
    let right12 = Right9 {
        at: &memory10[(0usize) & 3],
        y: v2,
    };
    let objects13: [&dyn Shape7; 3] = [&left11, &right12, if false { &left11 } else { &right12 }];
    output[1] = output[1].rotate_left(7)
        ^ (objects13.iter().fold(v1, |sum, object| {
            object.area(sum).rotate_left(object.name() as u32)
        }))
        .word();
    output[7] = output[7].wrapping_mul(31).wrapping_add(
        (search14(&TABLE15, (input[5] as u8).wrapping_mul(2u8)).map_or(17, |x| (*x).word())).word(),
    );
}

//! Made of: trait_object, option_array.
//! Inputs: seed 2027, program 77
//! Fails with: 1.95.0, --opt 3
//! Seen: device build: opt (LLVM 22, rustc 1.95.0) cannot compile the crate: Operand is null

trait Shape18 {
    fn area(&self, by: u64) -> u64;
    fn name(&self) -> u64 {
        5
    }
}
struct Left19(i64);
struct Right20<'a> {
    at: &'a u64,
    y: u64,
}
impl Shape18 for Left19 {
    fn area(&self, by: u64) -> u64 {
        self.0.word().wrapping_mul(by)
    }
}
impl Shape18 for Right20<'_> {
    fn area(&self, by: u64) -> u64 {
        self.y.word() ^ *self.at ^ by
    }
    fn name(&self) -> u64 {
        9
    }
}
static TABLE26: [i64; 4] = [8i64, (1i64 << 43), i64::MIN, 4i64];
pub fn program(input: &[u64; 8], output: &mut [u64; 8]) {
    let mut v16: bool = (((input[2] as i64) / 100) <= 0i64);
    let mut v17: u64 = 0u64;
    {
        let mut local21: [u64; 4] = [input[1], (v17 << ((input[6] as u32) & 63)), v17, 8u64];
        let left22 = Left19(0i64);
        let right23 = Right20 {
            at: &local21[((v16) as usize) & 3],
            y: v17,
        };
        let objects24: [&dyn Shape18; 3] = [
            &left22,
            &right23,
            if ((input[7] % 100) >= input[(input[4] as usize) & 7]) {
                &left22
            } else {
                &right23
            },
        ];
    }
    {
        shared!(memory25: [i64; 4]);
        let mut table27: [Option<&i64>; 4] = [None; 4];
        for k in 0..1usize {
            table27[((usize::MAX) ^ k) & 3] = if v16 {
                Some(if (v17 >= input[7]) {
                    &memory25[k & 3]
                } else {
                    &TABLE26[(((18i64) as usize).wrapping_shr(((input[4] as u32) << ((input[1] as u32) & 31)))) & 3]
                })
            } else {
                None
            };
        }
        // SAFETY: word 3 of eight.
        unsafe {
            *output.as_mut_ptr().add(3) = (table27
                .iter()
                .fold(1u64, |sum, x| sum.wrapping_mul(5) ^ x.map_or(9, |x| (*x).word())))
            .word()
            .rotate_left(3);
        }
    }
}

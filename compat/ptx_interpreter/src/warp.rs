//! Warp-synchronous instructions.

use crate::fault::FaultKind;
use crate::integer;
use crate::op::{Function, Op, ShuffleMode, VoteMode, WarpOp};
use crate::thread::{State, Thread};
use crate::types::Type;

/// Lets every group of the warp whose threads have all arrived go on. True if one did. The error names a thread.
pub(crate) fn resolve(warp: &mut [Thread], functions: &[Function]) -> Result<bool, (usize, FaultKind)> {
    let mut progressed = false;
    for lane in 0..warp.len() {
        if warp[lane].state != State::Warp {
            continue;
        }
        let Op::Warp { op, mask } = warp[lane].op(functions) else {
            unreachable!("it waits for its warp")
        };
        let mask = warp[lane].read(functions, mask) as u32;
        if mask >> lane & 1 == 0 {
            let what = format!("lane {lane} waits for the lanes {mask:#x} without being one of them");
            return Err((lane, FaultKind::Deadlock(what)));
        }
        let lanes: Vec<usize> = (0..warp.len())
            .filter(|&other| mask >> other & 1 == 1 && warp[other].state != State::Exited)
            .collect();
        let here = (warp[lane].current.function, warp[lane].current.pc);
        let arrived = lanes.iter().all(|&other| {
            let thread = &warp[other];
            let Op::Warp {
                op: theirs,
                mask: their_mask,
            } = thread.op(functions)
            else {
                return false;
            };
            // A bare barrier may be met at several places; what exchanges values is one instruction.
            let same = match (op, theirs) {
                (WarpOp::Sync, WarpOp::Sync) => true,
                _ => (thread.current.function, thread.current.pc) == here,
            };
            thread.state == State::Warp && same && thread.read(functions, their_mask) as u32 == mask
        });
        if arrived {
            perform(warp, &lanes, functions, op);
            for &other in &lanes {
                warp[other].current.pc += 1;
                warp[other].state = State::Ready;
            }
            progressed = true;
        }
    }
    Ok(progressed)
}

/// Lets threads that ask for the active ones go on, together with those that ask at the same place.
pub(crate) fn resolve_active(warp: &mut [Thread], functions: &[Function]) -> bool {
    let Some(first) = warp.iter().position(|thread| thread.state == State::ActiveMask) else {
        return false;
    };
    let here = |thread: &Thread| (thread.current.function, thread.current.pc, thread.callers.len());
    let place = here(&warp[first]);
    let is_here = |thread: &Thread| thread.state == State::ActiveMask && here(thread) == place;
    let lanes: Vec<usize> = (0..warp.len()).filter(|&lane| is_here(&warp[lane])).collect();
    let mask: u64 = lanes.iter().map(|&lane| 1 << lane).sum();
    for lane in lanes {
        let Op::ActiveMask { dst } = warp[lane].op(functions) else {
            unreachable!("it asks for the active lanes")
        };
        warp[lane].write(dst, mask);
        warp[lane].current.pc += 1;
        warp[lane].state = State::Ready;
    }
    true
}

/// Does what the instruction does for all lanes that take part.
fn perform(warp: &mut [Thread], lanes: &[usize], functions: &[Function], op: WarpOp) {
    let all = |warp: &[Thread], source| -> Vec<(usize, u64)> {
        lanes
            .iter()
            .map(|&lane| (lane, warp[lane].read(functions, source)))
            .collect()
    };
    match op {
        WarpOp::Sync => {}
        WarpOp::Shuffle {
            mode,
            dst,
            inside,
            value,
            lane: by,
            clamp,
        } => {
            let values = all(warp, value);
            let selected: Vec<(usize, u64, bool)> = lanes
                .iter()
                .map(|&lane| {
                    let (by, clamp) = (warp[lane].read(functions, by), warp[lane].read(functions, clamp));
                    let (from, is_inside) = source_lane(mode, lane as i32, by as i32, clamp as u32);
                    // A lane that takes no part leaves the value undefined; here it is the reader's own.
                    let find = |lane: usize| values.iter().find(|&&(other, _)| other == lane);
                    let value = find(from).or_else(|| find(lane)).map_or(0, |&(_, value)| value);
                    (lane, value & 0xffff_ffff, is_inside)
                })
                .collect();
            for (lane, value, is_inside) in selected {
                warp[lane].write(dst, value);
                warp[lane].write(inside, is_inside.into());
            }
        }
        WarpOp::Vote {
            mode,
            dst,
            predicate,
            negated,
        } => {
            let votes: Vec<(usize, bool)> = all(warp, predicate)
                .into_iter()
                .map(|(lane, value)| (lane, (value & 1 == 1) != negated))
                .collect();
            let yes = votes.iter().filter(|(_, vote)| *vote);
            let ballot: u64 = yes.clone().map(|(lane, _)| 1 << lane).sum();
            let result = match mode {
                VoteMode::Ballot => ballot,
                VoteMode::Any => (ballot != 0).into(),
                VoteMode::All => (yes.count() == lanes.len()).into(),
                VoteMode::Uniform => (ballot == 0 || yes.count() == lanes.len()).into(),
            };
            give(warp, lanes, dst, result);
        }
        WarpOp::MatchAny { ty, dst, value } => {
            let values = all(warp, value);
            for &(lane, value) in &values {
                let same = values
                    .iter()
                    .filter(|&&(_, other)| ty.extend(other) == ty.extend(value));
                warp[lane].write(dst, same.map(|(lane, _)| 1 << lane).sum());
            }
        }
        WarpOp::MatchAll { ty, dst, agreed, value } => {
            let values = all(warp, value);
            let same = values
                .iter()
                .all(|&(_, value)| ty.extend(value) == ty.extend(values[0].1));
            let mask = if same {
                lanes.iter().map(|lane| 1 << lane).sum()
            } else {
                0
            };
            give(warp, lanes, dst, mask);
            give(warp, lanes, agreed, same.into());
        }
        WarpOp::Reduce { op, ty, dst, value } => {
            let combine = |a, b| integer::binary(op, ty, a, b);
            let values = all(warp, value).into_iter().map(|(_, value)| value);
            let result = values.reduce(combine).unwrap_or(0);
            give(warp, lanes, dst, Type::new(crate::types::Kind::Bits, 32).extend(result));
        }
        WarpOp::Elect { dst, elected } => {
            give(warp, lanes, dst, lanes[0] as u64);
            give(warp, lanes, elected, 0);
            warp[lanes[0]].write(elected, 1);
        }
    }
}

fn give(warp: &mut [Thread], lanes: &[usize], dst: crate::op::Slot, value: u64) {
    for &lane in lanes {
        warp[lane].write(dst, value);
    }
}

/// The lane that `shfl` reads from, and whether it is within the segment.
fn source_lane(mode: ShuffleMode, lane: i32, by: i32, clamp: u32) -> (usize, bool) {
    let by = by & 31;
    let (clamp, segment) = ((clamp & 31) as i32, (clamp >> 8 & 31) as i32);
    let least = lane & segment;
    let greatest = least | clamp & !segment;
    let (from, inside) = match mode {
        ShuffleMode::Up => (lane - by, lane - by >= greatest),
        ShuffleMode::Down => (lane + by, lane + by <= greatest),
        ShuffleMode::Butterfly => (lane ^ by, (lane ^ by) <= greatest),
        ShuffleMode::Index => {
            let from = least | by & !segment;
            (from, from <= greatest)
        }
    };
    (if inside { from } else { lane } as usize, inside)
}

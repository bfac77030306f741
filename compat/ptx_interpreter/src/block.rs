//! One CTA: its threads run one after the other, each until it must wait.

use crate::fault::{Fault, FaultKind, Place};
use crate::machine::Environment;
use crate::op::{BarrierMode, Op};
use crate::thread::{State, Stop, Thread};
use crate::warp;

/// The steps that a thread runs at a stretch, so that those that it waits for in a loop have their turn.
const SLICE: u64 = 1 << 16;

/// The barriers of a CTA.
const BARRIERS: usize = 16;

/// Runs all threads to their ends.
pub(crate) fn run(environment: &mut Environment<'_>, threads: &mut [Thread]) -> Result<(), Fault> {
    let mut arrivals = [0u32; BARRIERS];
    loop {
        let mut progressed = false;
        for thread in threads.iter_mut().filter(|thread| thread.state == State::Ready) {
            progressed = true;
            if let Err(kind) = advance(environment, thread, &mut arrivals) {
                return Err(fault(environment, thread, kind));
            }
        }
        for first in (0..threads.len()).step_by(32) {
            let end = threads.len().min(first + 32);
            match warp::resolve(&mut threads[first..end], environment.functions) {
                Ok(some) => progressed |= some,
                Err((lane, kind)) => return Err(fault(environment, &threads[first + lane], kind)),
            }
        }
        for (id, arrivals) in arrivals.iter_mut().enumerate() {
            progressed |= resolve_barrier(environment, threads, id as u32, arrivals);
        }
        if threads.iter().all(|thread| thread.state == State::Exited) {
            return Ok(());
        }
        if progressed {
            continue;
        }
        let warps = threads.chunks_mut(32);
        let asked = warps.map(|warp| warp::resolve_active(warp, environment.functions));
        if asked.filter(|&some| some).count() == 0 {
            return Err(deadlock(environment, threads));
        }
    }
}

/// Runs a thread until it waits or its slice is over.
fn advance(
    environment: &mut Environment<'_>,
    thread: &mut Thread,
    arrivals: &mut [u32; BARRIERS],
) -> Result<(), FaultKind> {
    let slice = SLICE.min(environment.max_steps - environment.steps);
    if slice == 0 {
        return Err(FaultKind::StepLimit);
    }
    environment.slice = slice;
    let mut left = slice;
    let stop = thread.run(environment, &mut left);
    environment.steps += slice - left;
    match stop? {
        Stop::Slice => {}
        Stop::Exited => thread.state = State::Exited,
        Stop::Blocked => match thread.op(environment.functions) {
            Op::Warp { .. } => thread.state = State::Warp,
            Op::ActiveMask { .. } => thread.state = State::ActiveMask,
            Op::Barrier { mode, id, .. } => {
                let id = thread.read(environment.functions, id) as u32;
                if id as usize >= BARRIERS {
                    return Err(FaultKind::Deadlock(format!("there is no barrier {id}")));
                }
                match mode {
                    BarrierMode::Arrive => {
                        arrivals[id as usize] += 1;
                        thread.current.pc += 1;
                    }
                    _ => thread.state = State::Barrier(id),
                }
            }
            other => unreachable!("{other:?} blocks nothing"),
        },
    }
    Ok(())
}

/// Opens a barrier that all have reached.
fn resolve_barrier(environment: &Environment<'_>, threads: &mut [Thread], id: u32, arrivals: &mut u32) -> bool {
    let functions = environment.functions;
    let waits = |thread: &Thread| thread.state == State::Barrier(id);
    let Some(first) = threads.iter().find(|thread| waits(thread)) else {
        return false;
    };
    let Op::Barrier { count, .. } = first.op(functions) else {
        unreachable!("it waits at a barrier")
    };
    let expected = first.read(functions, count) as u32;
    let arrived: u32 = threads
        .chunks(32)
        .filter(|warp| warp.iter().any(waits))
        .map(|warp| {
            let waiting = warp.iter().filter(|thread| waits(thread)).count();
            let live = warp.iter().filter(|thread| thread.state != State::Exited).count();
            // Barriers count warps: lanes that do not run count with the others.
            (waiting + 32 - live) as u32
        })
        .sum();
    let is_complete = match expected {
        0 => {
            let live = threads.iter().filter(|thread| thread.state != State::Exited).count() as u32;
            threads.iter().filter(|thread| waits(thread)).count() as u32 + *arrivals >= live
        }
        _ => arrived + *arrivals >= expected,
    };
    if !is_complete {
        return false;
    }
    *arrivals = 0;
    let vote = |thread: &Thread| match thread.op(functions) {
        Op::Barrier { predicate, negated, .. } => (thread.read(functions, predicate) & 1 == 1) != negated,
        _ => false,
    };
    let waiting = threads.iter().filter(|thread| waits(thread));
    let (total, yes) = waiting.fold((0, 0), |(total, yes), thread| {
        (total + 1, yes + u64::from(vote(thread)))
    });
    for thread in threads.iter_mut().filter(|thread| waits(thread)) {
        let Op::Barrier { mode, dst, .. } = thread.op(functions) else {
            unreachable!("it waits at a barrier")
        };
        match mode {
            BarrierMode::Sync | BarrierMode::Arrive => {}
            BarrierMode::ReduceCount => thread.write(dst, yes),
            BarrierMode::ReduceAnd => thread.write(dst, (yes == total).into()),
            BarrierMode::ReduceOr => thread.write(dst, (yes > 0).into()),
        }
        thread.current.pc += 1;
        thread.state = State::Ready;
    }
    true
}

fn deadlock(environment: &Environment<'_>, threads: &[Thread]) -> Fault {
    let counted = |state: fn(State) -> bool| threads.iter().filter(|thread| state(thread.state)).count();
    let what = format!(
        "of {} threads {} wait at a barrier of the block, {} for lanes of their warps, {} have ended",
        threads.len(),
        counted(|state| matches!(state, State::Barrier(_))),
        counted(|state| state == State::Warp),
        counted(|state| state == State::Exited),
    );
    let waiting = threads.iter().find(|thread| thread.state != State::Exited);
    fault(environment, waiting.expect("a thread waits"), FaultKind::Deadlock(what))
}

/// A fault at the instruction where the thread stands.
pub(crate) fn fault(environment: &Environment<'_>, thread: &Thread, kind: FaultKind) -> Fault {
    let function = &environment.functions[thread.current.function as usize];
    Fault {
        kind,
        place: Some(Box::new(Place {
            line: function.lines[thread.current.pc as usize],
            function: function.name.clone(),
            block: environment.dimensions.block_index,
            thread: thread.index,
        })),
    }
}

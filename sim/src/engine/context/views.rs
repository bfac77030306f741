//! The views of shared memory that the block's threads have made, and stores through two that overlap.
//!
//! A store is a fault if its bytes are among those that were stored through another view of another type or shape, and
//! no synchronization of the two threads is between, or, in one thread, none at all: one of the two values is lost.
//! Views of one type are alike where one contains the other.

use std::cell::RefCell;
use std::ops::Range;
use std::panic::Location;

use crate::access::{AccessKind, ViewId};
use crate::fault::{FaultKind, OtherAccess};
use crate::launch::Checks;

use super::BlockContext;

/// The most distinct views of a block that are kept: others are not looked at.
const MOST: usize = 64;

/// The views of a block.
#[derive(Default)]
pub(super) struct Views(RefCell<Vec<View>>);

/// A view.
struct View {
    addresses: Range<usize>,
    element: &'static str,
    created: &'static Location<'static>,
    /// Bit `i`: stores through this and view `i` are a fault where their bytes overlap.
    clashes: u64,
    /// The stores through it since the last synchronization between two of them.
    stores: Option<Stores>,
}

/// Stores through a view.
struct Stores {
    /// The addresses from the lowest to the highest.
    addresses: Range<usize>,
    /// The last one's thread, its epoch, and its source location.
    thread: u16,
    epoch: u32,
    location: &'static Location<'static>,
}

impl Views {
    pub(super) fn start_block(&self) {
        self.0.borrow_mut().clear();
    }
}

impl View {
    /// Whether stores through both are a fault where their bytes overlap.
    fn clashes_with(&self, other: &Self) -> bool {
        let contains = |a: &Range<usize>, b: &Range<usize>| a.start <= b.start && b.end <= a.end;
        let (a, b) = (&self.addresses, &other.addresses);
        overlap(a, b) && (self.element != other.element || !contains(a, b) && !contains(b, a))
    }

    /// In words.
    fn describe(&self) -> String {
        let bytes = self.addresses.len();
        let (file, line) = (self.created.file(), self.created.line());
        format!("the one of {bytes} bytes of {} made at {file}:{line}", self.element)
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

impl BlockContext {
    /// See [`crate::access::shared_view`].
    pub(crate) fn shared_view(
        &self,
        addresses: Range<usize>,
        element: &'static str,
        created: &'static Location<'static>,
    ) -> ViewId {
        if self.checks == Checks::Off {
            return ViewId::NONE;
        }
        let mut views = self.views.0.borrow_mut();
        let known = views
            .iter()
            .position(|view| view.addresses == addresses && view.element == element);
        let index = known.unwrap_or_else(|| {
            if views.len() == MOST {
                return MOST;
            }
            let mut new = View {
                addresses,
                element,
                created,
                clashes: 0,
                stores: None,
            };
            let number = views.len();
            for (other, view) in views.iter_mut().enumerate() {
                if view.clashes_with(&new) {
                    view.clashes |= 1 << number;
                    new.clashes |= 1 << other;
                }
            }
            views.push(new);
            number
        });
        if index < MOST {
            ViewId(index as u32)
        } else {
            ViewId::NONE
        }
    }

    /// Notes a store of the running thread through a view of shared memory, which has been checked.
    #[inline]
    pub(crate) fn note_view(&self, view: ViewId, address: usize, bytes: usize, location: &'static Location<'static>) {
        let index = view.0 as usize;
        if index < MOST && self.checks != Checks::Off {
            self.note_store_through(index, address..address + bytes, location);
        }
    }

    fn note_store_through(&self, index: usize, store: Range<usize>, location: &'static Location<'static>) {
        let thread = self.thread();
        let mut views = self.views.0.borrow_mut();
        let clash = {
            let clocks = &self.analysis.borrow().sync.clocks;
            let epoch = clocks.epoch(thread);
            let is_over = |stores: &Stores| match stores.thread == thread {
                true => stores.epoch < epoch,
                false => clocks.ordered(stores.thread, stores.epoch, thread),
            };
            let Some(own) = views.get(index) else { return };
            let mut others = (0..views.len()).filter(|other| own.clashes >> other & 1 == 1);
            let clash = others.find_map(|other| {
                let stores = views[other].stores.as_ref()?;
                let is_clash = overlap(&stores.addresses, &store) && !is_over(stores);
                is_clash.then_some((other, stores.thread, stores.location))
            });
            let last = &mut views[index].stores;
            let addresses = match last.take() {
                Some(stores) if !is_over(&stores) => {
                    let before = stores.addresses;
                    before.start.min(store.start)..before.end.max(store.end)
                }
                _ => store.clone(),
            };
            *last = Some(Stores {
                addresses,
                thread,
                epoch,
                location,
            });
            clash
        };
        if let Some((other, by, line)) = clash {
            let earlier = OtherAccess {
                access: Some(AccessKind::Write),
                ..self.other_thread(by.into(), line)
            };
            let offset = self.shared_operand(AccessKind::Write, store.start, store.len(), location);
            let kind = FaultKind::ViewOverlap {
                offset: self.reported_offset(offset),
                here: views[index].describe(),
                there: views[other].describe(),
            };
            self.fault(kind, Some(location), Some(earlier));
        }
    }
}

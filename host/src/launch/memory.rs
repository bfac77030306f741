//! Matrices in device memory.

use std::marker::PhantomData;
use std::ops::Range;

use cust::memory::{CopyDestination, DeviceBuffer, DevicePointer, DeviceSlice};

use crate::element::Element;
use crate::error::{DriverCall, Error, Result};
use crate::launch::Gpu;
use crate::problem::Location;

/// What allocations are rounded up to (bytes). `cp.async` with fewer valid bytes than it copies reads only those, but
/// compute-sanitizer's memcheck (2025.3) takes it for a read of all 16.
const ROUNDED_TO_BYTES: usize = 16;

/// Ends of groups of rows in global memory, freed before the device they lie on is closed.
pub struct DeviceGroupEnds<'gpu> {
    buffer: DeviceBuffer<u32>,
    _gpu: PhantomData<&'gpu Gpu>,
}

impl DeviceGroupEnds<'_> {
    pub(super) fn from_slice(ends: &[u32]) -> Result<Self> {
        Ok(Self {
            buffer: DeviceBuffer::from_slice(ends).of_call("cuMemAlloc")?,
            _gpu: PhantomData,
        })
    }

    /// Groups.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn address(&self) -> u64 {
        self.buffer.as_device_ptr().as_raw()
    }
}

impl<'a, T: Element> Location for &'a DeviceMatrix<'_, T> {
    type GroupEnds = &'a DeviceGroupEnds<'a>;
}

/// Elements in global memory, freed before the device they lie on is closed.
pub struct DeviceMatrix<'gpu, T: Element> {
    /// The elements, then zeros up to whole [`ROUNDED_TO_BYTES`].
    buffer: DeviceBuffer<T>,
    len: usize,
    _gpu: PhantomData<&'gpu Gpu>,
}

impl<T: Element> DeviceMatrix<'_, T> {
    pub(super) fn from_slice(elements: &[T]) -> Result<Self> {
        let mut matrix = Self::uninitialized(elements.len())?;
        matrix.upload_at(0, elements)?;
        Ok(matrix)
    }

    pub(super) fn uninitialized(len: usize) -> Result<Self> {
        let rounded = len.next_multiple_of(ROUNDED_TO_BYTES / size_of::<T>());
        // SAFETY: every element type is valid for any bits, and the host reads them only as what the device left there.
        let buffer = unsafe { DeviceBuffer::uninitialized(rounded) }.of_call("cuMemAlloc")?;
        if rounded > len {
            buffer.index(len..).set_8(0).of_call("cuMemsetD8")?;
        }
        Ok(Self {
            buffer,
            len,
            _gpu: PhantomData,
        })
    }

    /// The elements alone.
    fn elements(&self) -> DeviceSlice<T> {
        self.buffer.index(..self.len)
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies all elements to the host, once what was launched before is done.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the lengths differ, [`Error::Driver`] otherwise.
    pub fn download(&self, elements: &mut [T]) -> Result<()> {
        if elements.len() != self.len() {
            return Err(Error::InvalidArgument(format!(
                "cannot copy {} device elements into {}",
                self.len(),
                elements.len()
            )));
        }
        self.elements().copy_to(elements).of_call("cuMemcpyDtoH")
    }

    /// Copies some elements to the host, from element `first` on, once what was launched before is done.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when they end behind the last, [`Error::Driver`] otherwise.
    pub fn download_at(&self, first: usize, elements: &mut [T]) -> Result<()> {
        let part = self.part(first, elements.len())?;
        self.buffer.index(part).copy_to(elements).of_call("cuMemcpyDtoH")
    }

    /// Copies elements of the host to the elements from `first` on, after what was launched before.
    ///
    /// # Errors
    /// As for [`DeviceMatrix::download_at`].
    pub fn upload_at(&mut self, first: usize, elements: &[T]) -> Result<()> {
        let part = self.part(first, elements.len())?;
        self.buffer.index(part).copy_from(elements).of_call("cuMemcpyHtoD")
    }

    /// `len` elements from `first` on.
    fn part(&self, first: usize, len: usize) -> Result<Range<usize>> {
        match first.checked_add(len) {
            Some(end) if end <= self.len() => Ok(first..end),
            _ => Err(Error::InvalidArgument(format!(
                "{len} elements from element {first} on are not in a matrix of {}",
                self.len()
            ))),
        }
    }

    /// Copies all elements of another matrix on this device, after what was launched before.
    ///
    /// # Errors
    /// As for [`DeviceMatrix::download`].
    pub fn copy_from(&mut self, other: &Self) -> Result<()> {
        if other.len() != self.len() {
            return Err(Error::InvalidArgument(format!(
                "cannot copy {} device elements into {}",
                other.len(),
                self.len()
            )));
        }
        self.elements().copy_from(&other.elements()).of_call("cuMemcpyDtoD")
    }

    /// Sets every byte, after what was launched before; returns before it is done. With `0xff` every element is a NaN.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn fill_bytes(&mut self, byte: u8) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        self.elements().set_8(byte).of_call("cuMemsetD8")
    }

    /// The address of the first element, for launches of kernels that are not in the variant table.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.buffer.as_device_ptr()
    }
}

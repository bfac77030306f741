//! Clusters: CTAs that run together and access each other's shared memory (PTX ISA, "Cluster of Cooperative Thread
//! Arrays", "barrier.cluster", "mapa"), for `sm_90` and later. A kernel has them by `#[kernel(cluster = ..)]`; without,
//! each CTA is a cluster of its own.
//!
//! A CTA must not exit while others still access its shared memory: it ends with [`arrive`] and [`wait`].

use cuda_views::Shared;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_views::cluster;

#[cfg(target_arch = "nvptx64")]
use super::shared_address::shared_address;

/// Rank of the CTA in its cluster, from 0: `%cluster_ctarank`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn rank() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let rank: u32;
        // SAFETY: writes one register.
        unsafe { core::arch::asm!("mov.u32 {}, %cluster_ctarank;", out(reg32) rank, options(pure, nomem, nostack)) };
        rank
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cluster::rank()
}

/// CTAs of the cluster: `%cluster_nctarank`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn size() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let size: u32;
        // SAFETY: writes one register.
        unsafe { core::arch::asm!("mov.u32 {}, %cluster_nctarank;", out(reg32) size, options(pure, nomem, nostack)) };
        size
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cluster::size()
}

/// Arrives at the barrier of the cluster, and releases what this thread has done: `barrier.cluster.arrive`.
///
/// # Safety
/// The thread has [waited](wait) for its last arrival.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn arrive() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!("barrier.cluster.arrive.release;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cluster::arrive();
}

/// Waits until all threads of the cluster that have not ended have arrived, and acquires what they have released:
/// `barrier.cluster.wait`.
///
/// # Safety
/// The thread has [arrived](arrive) since its last wait.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn wait() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!("barrier.cluster.wait.acquire;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cluster::wait();
}

/// An address in the shared memory of a CTA of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterAddress(u32);

/// Address of element `index` of a view in the shared memory of CTA `rank`, which has it at the same offset:
/// `mapa`.
///
/// # Safety
/// The cluster has a CTA of this rank.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn map<T: bytemuck::Pod>(view: Shared<T>, index: u32, rank: u32) -> ClusterAddress {
    #[cfg(target_arch = "nvptx64")]
    {
        let address: u32;
        // SAFETY: reads two registers, writes one.
        unsafe {
            core::arch::asm!(
                "mapa.shared::cluster.u32 {}, {}, {};",
                out(reg32) address,
                in(reg32) shared_address(view, index),
                in(reg32) rank,
                options(pure, nomem, nostack),
            );
        }
        ClusterAddress(address)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    ClusterAddress(cluster::map(view, index, rank))
}

/// Arrives at an mbarrier of another CTA, and releases to the cluster: `mbarrier.arrive.release.cluster`. It is
/// waited for by [`wait_for`].
///
/// # Safety
/// It is a barrier whose phase lacks this arrival, in a CTA that has not exited. A barrier of the cluster stands
/// between its initialisation and this.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn arrive_at(barrier: ClusterAddress) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [{}];",
            in(reg32) barrier.0,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cluster::arrive_remote(barrier.0);
}

/// Arrives at an mbarrier of another CTA, and releases to its own CTA alone: `mbarrier.arrive.release.cta`. For a
/// thread whose products (`wgmma`) have read what another block's bulk copy then writes: the wait for the products has
/// made them complete, and there is nothing else to be ordered. A release to the cluster would wait for all of the
/// thread's stores (`MEMBAR.GPU`), each step.
///
/// # Safety
/// As for [`arrive_at`]. Whoever waits for it relies on no access of this thread but of products that it has waited
/// for.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn arrive_at_after_products(barrier: ClusterAddress) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "mbarrier.arrive.shared::cluster.b64 _, [{}];",
            in(reg32) barrier.0,
            options(nostack, preserves_flags),
        );
    }
    // To the simulator reads of products are accesses of their thread, so that the arrival has to release them.
    #[cfg(not(target_arch = "nvptx64"))]
    cluster::arrive_remote(barrier.0);
}

/// Waits until the phase of parity `parity` of this block's barrier is complete, at which threads of other blocks
/// arrive: `mbarrier.try_wait.parity.acquire.cluster`.
///
/// # Safety
/// As for `mbarrier::try_wait`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn wait_for(barriers: Shared<u64>, index: u32, parity: u32) {
    #[cfg(target_arch = "nvptx64")]
    loop {
        let complete: u32;
        // SAFETY: the caller's promise.
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred complete;",
                "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [{barrier}], {parity};",
                "selp.b32 {complete}, 1, 0, complete; }}",
                barrier = in(reg32) shared_address(barriers, index),
                parity = in(reg32) parity,
                complete = out(reg32) complete,
                options(nostack, preserves_flags),
            );
        }
        if complete != 0 {
            return;
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_views::mbarrier::wait(barriers, index, parity);
}

/* Asks NVIDIA's occupancy model (cuda_occupancy.h) one question a line and answers with one line.
 *
 * A question, decimal numbers: the device (compute capability, then the limits that a query reports), the block, and for
 * the inverse a number of blocks with the dynamic bytes that are claimed to be the most for it, or -1.
 * An answer: what `ask` prints below; -1 where the model says that there is no limit or no answer.
 */
#include <limits.h>
#include <stdio.h>

#include "cuda_occupancy.h"

static cudaOccDeviceProp device;
static cudaOccFuncAttributes function;
static cudaOccDeviceState state;

/* The resident blocks of a function that may ask for any amount of dynamic shared memory. */
static int resident(int threads, size_t dynamic)
{
    cudaOccResult result = {0};
    cudaOccFuncAttributes unrestricted = function;
    unrestricted.maxDynamicSharedSizeBytes = INT_MAX;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &unrestricted, &state, threads, dynamic))
        return -1;
    return result.activeBlocksPerMultiprocessor;
}

/* The model's own inverse. */
static long long available(int blocks, int threads)
{
    size_t bytes = 0;
    cudaOccFuncAttributes unrestricted = function;
    unrestricted.maxDynamicSharedSizeBytes = INT_MAX;
    if (cudaOccAvailableDynamicSMemPerBlock(&bytes, &device, &unrestricted, &state, blocks, threads))
        return -1;
    return (long long)bytes;
}

/* The configuration of the cache: the preferred one, or the next above if that does not hold one block. */
static long long configuration(const cudaOccResult *result)
{
    size_t bytes = 0;
    if (result->blockLimitSharedMem == 0)
        return 0;
    if (cudaOccSMemPerMultiprocessor(&bytes, &device, &state))
        return -1;
    if (bytes < result->allocatedSharedMemPerBlock) {
        bytes = result->allocatedSharedMemPerBlock;
        if (cudaOccAlignUpShmemSizeVoltaPlus(&bytes, &device))
            return -1;
    }
    return (long long)bytes;
}

static int limit(int blocks)
{
    return blocks == INT_MAX ? -1 : blocks;
}

static int ask(int threads, size_t dynamic, int blocks, long long largest)
{
    cudaOccResult result = {0};
    cudaOccError error =
        cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, dynamic);
    if (error)
        return 0;
    printf("%d %u %d %d %d %d %d %d %zu %d %lld %lld", result.activeBlocksPerMultiprocessor, result.limitingFactors,
           limit(result.blockLimitSharedMem), limit(result.blockLimitRegs), limit(result.blockLimitWarps),
           limit(result.blockLimitBlocks), limit(result.blockLimitBarriers), limit(result.blockLimitVirtual),
           result.allocatedSharedMemPerBlock, result.allocatedRegistersPerBlock, configuration(&result),
           available(blocks, threads));
    if (largest < 0)
        printf(" %d -1\n", resident(threads, 0));
    else
        printf(" %d %d\n", resident(threads, (size_t)largest), resident(threads, (size_t)largest + 1));
    return 1;
}

int main(void)
{
    int threads, blocks;
    size_t dynamic;
    long long largest;
    unsigned long line = 0;

    device.numSms = 1;
    function.maxThreadsPerBlock = INT_MAX;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    while (scanf("%d %d %d %d %d %d %d %zu %zu %zu %zu", &device.computeMajor, &device.computeMinor,
                 &device.maxThreadsPerBlock, &device.maxThreadsPerMultiprocessor, &device.regsPerBlock,
                 &device.regsPerMultiprocessor, &device.warpSize, &device.sharedMemPerBlock,
                 &device.sharedMemPerMultiprocessor, &device.sharedMemPerBlockOptin,
                 &device.reservedSharedMemPerBlock) == 11) {
        line += 1;
        if (scanf("%d %d %zu %zu %zu %d %d %d %d %lld", &threads, &function.numRegs, &function.sharedSizeBytes, &dynamic,
                  &function.maxDynamicSharedSizeBytes, &state.carveoutConfig, &function.numBlockBarriers,
                  &function.virtualResourceCount, &blocks, &largest) != 10) {
            fprintf(stderr, "line %lu: incomplete\n", line);
            return 1;
        }
        if (!ask(threads, dynamic, blocks, largest)) {
            fprintf(stderr, "line %lu: cuda_occupancy.h takes no such input\n", line);
            return 1;
        }
    }
    return 0;
}

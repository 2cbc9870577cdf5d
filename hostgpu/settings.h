/* settings.h - the environment variables of the host device, read once. docs/hostgpu.md describes
 * them. */
#ifndef HOSTGPU_SETTINGS_H
#define HOSTGPU_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOSTGPU_MAX_DEVICES = 64 };

typedef struct {
    unsigned workers;   /* HOSTGPU_WORKERS: OS threads that run blocks; cores by default, or 2 */
    size_t page_bytes;  /* of the system's memory: 4 KiB, on Arm up to 64 KiB */
    size_t stack_bytes; /* HOSTGPU_STACK: of one CUDA thread; default 64 KiB */
    uint64_t seed;      /* HOSTGPU_SEED: shuffles the order of threads and blocks; 0: in order */
    uint64_t unwritten; /* HOSTGPU_UNWRITTEN: draws what nobody has written; 0: NaN */
    /* HOSTGPU_MEMORY: of each device; default: half of the machine's, divided among them */
    size_t memory_bytes;
    unsigned devices; /* HOSTGPU_DEVICES: how many there are; default 1 */
    bool are_peers;   /* HOSTGPU_PEERS: devices reach each other's memory; default 0 */
} hostgpu_settings;

const hostgpu_settings *hostgpu_get_settings(void);

/* Cores that this process may use. */
unsigned hostgpu_core_count(void);

#endif

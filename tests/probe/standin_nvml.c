/* A stand-in for NVIDIA's driver library, for tests.
 *
 * STANDIN_NVML names what is unusual about it, as words with spaces between:
 *   none        no card at all                 mismatch   the driver is of another version
 *   missing     everything but memory is N/A   sentinel   unknown sizes are 2^64 - 1
 *   unified     card 1 has no memory of its own
 *   mig         card 0 is cut into two instances
 *   lost        card 1 is lost after its first reading
 *   hidden      card 0 belongs to another job
 *   slow        power takes STANDIN_NVML_SLOW_MS  slow-init  the beginning takes as long
 *   many        1000 processes on card 0
 * STANDIN_NVML_PROCESSES names a file with "PID BYTES" in each line: the processes on card 0.
 *
 * -DOLD leaves only the first version of each function, -DMIDDLE the second of the process list,
 * -DLONG gives its third version the longer entries, -DCLEARING clears the whole list first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB 1048576ULL
#define UNKNOWN 0xFFFFFFFFFFFFFFFFULL
#define NO_ID 0xFFFFFFFFu

enum { OK = 0, UNINITIALIZED = 1, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6,
       TOO_SMALL = 7, LOST = 15, MISMATCH = 18 };

typedef struct { int card; int instance; } Device;
typedef Device *Handle;

static Device cards[2] = {{0, -1}, {1, -1}};
static int started = 0;
static int asked_of_card_1 = 0;

static int is(const char *word) {
    char padded[256], wanted[64];
    const char *words = getenv("STANDIN_NVML");
    snprintf(padded, sizeof padded, " %s ", words ? words : "");
    snprintf(wanted, sizeof wanted, " %s ", word);
    return strstr(padded, wanted) != NULL;
}

static void take_long(void) {
    const char *text = getenv("STANDIN_NVML_SLOW_MS");
    usleep((text ? atoi(text) : 0) * 1000);
}

static int fails(Handle device) {
    if (!started) return UNINITIALIZED;
    return is("lost") && device->card == 1 && asked_of_card_1 > 1 ? LOST : OK;
}

static int begin(void) {
    if (is("slow-init")) take_long();
    if (is("mismatch")) return MISMATCH;
    started = 1;
    asked_of_card_1 = 0;
    return OK;
}

static int count_cards(unsigned *count) {
    *count = is("none") ? 0 : 2;
    return OK;
}

static int handle_of(unsigned index, Handle *device) {
    if (is("hidden") && index == 0) return NO_PERMISSION;
    *device = &cards[index];
    return OK;
}

#ifdef OLD
int nvmlInit(void) { return begin(); }
int nvmlDeviceGetCount(unsigned *count) { return count_cards(count); }
int nvmlDeviceGetHandleByIndex(unsigned i, Handle *device) { return handle_of(i, device); }
#else
int nvmlInit_v2(void) { return begin(); }
int nvmlDeviceGetCount_v2(unsigned *count) { return count_cards(count); }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, Handle *device) { return handle_of(i, device); }
#endif

const char *nvmlErrorString(int code) {
    return code == MISMATCH ? "Driver/library version mismatch" : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    snprintf(text, size, "550.54.15");
    return OK;
}

int nvmlSystemGetCudaDriverVersion(int *version) {
    *version = 12040;
    return OK;
}

int nvmlDeviceGetName(Handle device, char *text, unsigned size) {
    const char *profile = device->instance < 0 ? "" : device->instance ? " MIG 2g.20gb" : " MIG 1g.10gb";
    snprintf(text, size, "NVIDIA H100%s", profile);
    return fails(device);
}

int nvmlDeviceGetUUID(Handle device, char *text, unsigned size) {
    if (device->instance < 0) snprintf(text, size, "GPU-%d", device->card);
    else snprintf(text, size, "MIG-%d", device->instance);
    return fails(device);
}

int nvmlDeviceGetCudaComputeCapability(Handle device, int *major, int *minor) {
    if (is("missing")) return NOT_SUPPORTED;
    *major = 9;
    *minor = 0;
    return fails(device);
}

int nvmlDeviceGetEccMode(Handle device, unsigned *current, unsigned *pending) {
    if (is("missing")) return NOT_SUPPORTED;
    *current = 1;
    *pending = 0;
    return fails(device);
}

int nvmlDeviceGetPersistenceMode(Handle device, unsigned *mode) {
    if (is("missing")) return NOT_SUPPORTED;
    *mode = 0;
    return fails(device);
}

#ifndef OLD
int nvmlDeviceGetMigMode(Handle device, unsigned *current, unsigned *pending) {
    if (is("missing")) return NOT_SUPPORTED;
    *current = *pending = is("mig") && device->card == 0;
    return fails(device);
}

int nvmlDeviceGetMaxMigDeviceCount(Handle device, unsigned *count) {
    *count = 7;
    return fails(device);
}

static Device instances[2] = {{0, 0}, {0, 2}};

int nvmlDeviceGetMigDeviceHandleByIndex(Handle device, unsigned index, Handle *instance) {
    if (index != 0 && index != 2) return NOT_FOUND;
    *instance = &instances[index / 2];
    return fails(device);
}
#endif

/* In MiB: card 0 holds 1000 of 81559, card 1 2000; an instance 100 or 200 of 9856 or 19712. */
static unsigned long long total_of(Handle device) {
    if (is("sentinel")) return UNKNOWN;
    return (device->instance < 0 ? 81559 : device->instance ? 19712 : 9856) * MIB;
}

static unsigned long long used_of(Handle device) {
    if (is("sentinel")) return UNKNOWN;
    if (device->instance >= 0) return (device->instance ? 200 : 100) * MIB;
    return (device->card + 1) * 1000 * MIB;
}

static int memory_fails(Handle device) {
    asked_of_card_1 += device->card == 1;
    return is("unified") && device->card == 1 ? NOT_SUPPORTED : fails(device);
}

/* The first version counts the 500 MiB that the driver reserves as in use. */
int nvmlDeviceGetMemoryInfo(Handle device, unsigned long long *fields) {
    fields[0] = total_of(device);
    fields[1] = 1;
    fields[2] = is("sentinel") ? UNKNOWN : used_of(device) + 500 * MIB;
    return memory_fails(device);
}

#ifndef OLD
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } MemoryV2;

int nvmlDeviceGetMemoryInfo_v2(Handle device, MemoryV2 *memory) {
    if (memory->version != (sizeof *memory | 2 << 24)) return 25;
    memory->total = total_of(device);
    memory->reserved = 500 * MIB;
    memory->free = 1;
    memory->used = used_of(device);
    return memory_fails(device);
}
#endif

int nvmlDeviceGetUtilizationRates(Handle device, unsigned *rates) {
    if (is("missing") || device->instance >= 0 || (is("mig") && device->card == 0))
        return NOT_SUPPORTED;
    rates[0] = is("sentinel") ? NO_ID : 37;
    rates[1] = 99;
    return fails(device);
}

int nvmlDeviceGetPowerUsage(Handle device, unsigned *milliwatts) {
    if (is("slow")) take_long();
    if (is("missing") || device->instance >= 0) return NOT_SUPPORTED;
    *milliwatts = is("sentinel") ? NO_ID : 70123;
    return fails(device);
}

static int list(Handle device, unsigned *count, char *entries, unsigned stride) {
    unsigned long long pids[1024], sizes[1024];
    unsigned found = 0, room = *count;
    const char *path = getenv("STANDIN_NVML_PROCESSES");
    FILE *file = path && device->card == 0 ? fopen(path, "r") : NULL;
    if (is("missing")) return NOT_SUPPORTED;
    if (is("many") && device->card == 0)
        for (; found < 1000; found++) pids[found] = 5000 + found, sizes[found] = MIB;
    while (file && found < 1024 && fscanf(file, "%llu %llu", &pids[found], &sizes[found]) == 2) found++;
    if (file) fclose(file);
    *count = found;
    if (found > room) return TOO_SMALL;
#ifdef CLEARING
    memset(entries, 0, (size_t)room * stride);
#endif
    for (unsigned i = 0; i < found; i++) {
        char *entry = entries + (size_t)i * stride;
        unsigned ids[2] = {NO_ID, NO_ID}, pid = (unsigned)pids[i];
        unsigned long long size = is("sentinel") ? UNKNOWN : sizes[i], confidential = 0;
        memcpy(entry, &pid, 4);
        memcpy(entry + 8, &size, 8);
        if (stride >= 24) memcpy(entry + 16, ids, 8);
        if (stride >= 32) memcpy(entry + 24, &confidential, 8);
    }
    return fails(device);
}

int nvmlDeviceGetComputeRunningProcesses(Handle device, unsigned *count, char *entries) {
    return list(device, count, entries, 16);
}

#ifndef OLD
int nvmlDeviceGetComputeRunningProcesses_v2(Handle device, unsigned *count, char *entries) {
    return list(device, count, entries, 24);
}
#ifndef MIDDLE
int nvmlDeviceGetComputeRunningProcesses_v3(Handle device, unsigned *count, char *entries) {
#ifdef LONG
    return list(device, count, entries, 32);
#else
    return list(device, count, entries, 24);
#endif
}
#endif
#endif

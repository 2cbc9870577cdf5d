#include "tools/machine.h"

#include <cuda_runtime_api.h> /* CUDART_VERSION, nothing else */
#include <dlfcn.h>
#include <stdio.h>

/* The driver interface (cuda.h), as far as it is needed; results are 0 for success. */
typedef struct {
    int (*init)(unsigned flags);
    int (*error_string)(int error, const char **text);
    int (*driver_version)(int *version);
    int (*device_count)(int *count);
    int (*device)(int *device, int number);
    int (*name)(char *name, int bytes, int device);
    int (*attribute)(int *value, int attribute, int device);
    int (*memory)(size_t *bytes, int device);
} driver;

/* The missing function's name, or NULL if all are there. */
static const char *find_functions(void *library, driver *d)
{
    const struct {
        const char *name;
        void *slot;
    } functions[] = {
        {"cuInit", &d->init},
        {"cuGetErrorString", &d->error_string},
        {"cuDriverGetVersion", &d->driver_version},
        {"cuDeviceGetCount", &d->device_count},
        {"cuDeviceGet", &d->device},
        {"cuDeviceGetName", &d->name},
        {"cuDeviceGetAttribute", &d->attribute},
        {"cuDeviceTotalMem_v2", &d->memory},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function) return functions[i].name;
        *(void **)functions[i].slot = function;
    }
    return NULL;
}

static void query_device(const driver *d, int number, machine_device *device)
{
    int handle = 0, value[TD_CARD_ATTRIBUTES] = {0};
    char name[MACHINE_TEXT_BYTES] = "unknown";
    *device = (machine_device){0};
    if (d->device(&handle, number) == 0) {
        d->name(name, sizeof name, handle);
        for (int i = 0; i < TD_CARD_ATTRIBUTES; i++)
            d->attribute(&value[i], td_card_attributes[i], handle);
        d->memory(&device->memory_bytes, handle);
    }
    device->card = td_card_of(name, value);
}

static void query_devices(const driver *d, machine *m)
{
    int count = 0;
    int error = d->driver_version(&m->driver_version);
    if (!error) error = d->init(0);
    if (!error) error = d->device_count(&count);
    if (error) {
        const char *text = NULL;
        if (d->error_string(error, &text) != 0 || !text) text = "unknown error";
        snprintf(m->reason, sizeof m->reason, "%s", text);
        return;
    }
    /* Drivers serve every runtime of their own major version, and older ones. */
    if (m->driver_version / 1000 < CUDART_VERSION / 1000) {
        snprintf(m->reason, sizeof m->reason, "the driver is for CUDA %d.%d, and CUDA %d is needed",
                 m->driver_version / 1000, m->driver_version % 1000 / 10, CUDART_VERSION / 1000);
        return;
    }
    m->device_count = count < MACHINE_DEVICES ? count : MACHINE_DEVICES;
    for (int i = 0; i < m->device_count; i++) query_device(d, i, &m->devices[i]);
    if (count == 0) snprintf(m->reason, sizeof m->reason, "the driver sees no device");
}

void machine_query(machine *m)
{
    driver d;
    *m = (machine){0};
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(m->reason, sizeof m->reason, "no driver: libcuda.so.1 cannot be loaded");
        return;
    }
    const char *missing = find_functions(library, &d);
    if (missing)
        snprintf(m->reason, sizeof m->reason, "libcuda.so.1 has no function %s", missing);
    else
        query_devices(&d, m);
    /* The library stays open: drivers do not survive dlclose. */
}

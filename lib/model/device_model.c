#include "device_model.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "../cuda/device.h"
#include "../options/log.h"
#include "calibration.h"

/* The host device's clocks say nothing: it stands for a card of the table. */
#ifdef TD_HOSTGPU
enum { IS_HOST_DEVICE = 1 };
#else
enum { IS_HOST_DEVICE = 0 };
#endif

bool td_device_card(int ordinal, td_card *card)
{
    int value[TD_CARD_ATTRIBUTES];
    td_device_text name;
    if (!td_device_name(ordinal, &name)) return false;
    for (int i = 0; i < TD_CARD_ATTRIBUTES; i++)
        if (!td_cuda_ok(cudaDeviceGetAttribute(
                &value[i], (enum cudaDeviceAttr)td_card_attributes[i], ordinal)))
            return false;
    const td_card *stand_in = IS_HOST_DEVICE ? td_card_known(name.text) : NULL;
    *card = stand_in ? *stand_in : td_card_of(name.text, value);
    return true;
}

static bool make(td_model *model, int ordinal)
{
    td_card card;
    int driver = 0;
    if (!td_device_card(ordinal, &card) || !td_cuda_ok(cudaDriverGetVersion(&driver))) return false;
    td_model_make(model, &card);
    td_calibration_use(model, driver);
    return true;
}

const td_model *td_device_model(int ordinal)
{
    static _Atomic(td_model *) models[TD_MAX_DEVICES];
    if (ordinal < 0 || ordinal >= TD_MAX_DEVICES) return NULL;
    td_model *known = atomic_load(&models[ordinal]);
    if (known) return known;
    td_model *made = malloc(sizeof *made);
    const td_capture_mode mode = td_capture_allow();
    const bool is_made = made && make(made, ordinal);
    td_capture_restore(mode);
    if (is_made && atomic_compare_exchange_strong(&models[ordinal], &known, made)) {
        td_log(TD_LOG_INFO, "device %d: products are predicted by figures %s", ordinal,
               made->source);
        return made;
    }
    free(made); /* another thread was first, or there is none */
    return known;
}

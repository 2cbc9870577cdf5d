#include "decision.h"

const char td_reason_mode[] = "mode native";
const char td_reason_invalid[] = "invalid arguments";
const char td_reason_empty[] = "nothing to compute";
const char td_reason_pedantic[] = "the handle asks for plain arithmetic";
const char td_reason_routine[] = "the mode has no such routine";
const char td_reason_device[] = "unsupported device";
const char td_reason_devices[] = "devices unknown";
const char td_reason_pointer[] = "C is not memory of the current device";
const char td_reason_stream[] = "stream unknown";
const char td_reason_memory[] = "out of device memory";
const char td_reason_capture[] = "no memory for a captured product";
const char td_reason_waits[] = "the host waits, and the stream is captured";
const char td_reason_large[] = "too large for the mode";
const char td_reason_cublas[] = "no cuBLAS for the mode";
const char td_reason_launch[] = "kernel launch refused";
const char td_reason_refused[] = "stream refused";
const char td_reason_operand[] = "operand out of reach";
const char td_reason_unaligned[] = "complex numbers that 16 bytes do not align";
const char td_reason_scales[] = "nothing to multiply";
const char td_reason_slower[] = "predicted to gain too little";
const char td_reason_worst[] = "finding out that data are bad costs too much";
const char td_reason_in_graph[] = "bad data cost too much in a graph without conditions";
const char td_reason_accuracy[] = "no mode is as accurate as asked";
const char td_reason_layout[] = "C is D in another layout";
const char td_reason_members[] = "a scalar for each member";
const char td_reason_invariance[] = "batch invariance is asked for";

const char td_reason_rule[] = "a rule of TANDEM_RULES";
const char td_reason_rules[] = "faults in TANDEM_RULES";
const char td_reason_emulates[] = "the call asks for cuBLAS's own emulation";
const char td_reason_allows[] = "mode native, and cuBLAS may emulate";
const char td_reason_panels[] = "no panels of such a matrix on this device";
const char td_reason_vectors[] = "no vectors are asked for";
const char td_reason_refined[] = "residuals of the refined vectors are above native's";
const char td_reason_narrow[] = "it begins with cuSOLVER's bits";
const char td_reason_untimed[] = "nobody knows its time on this device";
const char td_reason_algorithm[] = "the call asks for another algorithm";
const char td_reason_algorithms[] = "algorithm unknown";
const char td_reason_lost[] = "the site's last call has not won";

const char td_choice_fastest[] = "predicted fastest";
const char td_choice_faster[] = "predicted faster than native";
const char td_choice_emulated[] = "predicted fastest mode";
const char td_choice_reproducible[] = "the same on every device";
const char td_choice_rule[] = "a rule of TANDEM_RULES";
const char td_choice_instead[] = "the call's mode could not run here";

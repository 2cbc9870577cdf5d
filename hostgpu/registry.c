/* registry.c - the ranges of memory that the runtime knows, ordered by address, none overlapping
 * another. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cudart_internal.h"

pthread_mutex_t hostgpu_registry_lock = PTHREAD_MUTEX_INITIALIZER;
static hostgpu_range *ranges;
static size_t count, capacity;

/* Number of ranges that start at or below the address. */
static size_t ranges_up_to(uintptr_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(void)
{
    size_t larger = capacity ? 2 * capacity : 64;

    if (count < capacity) return true;
    hostgpu_range *grown = realloc(ranges, larger * sizeof *ranges);
    if (!grown) return false;
    ranges = grown;
    capacity = larger;
    return true;
}

static void take_at(size_t place, hostgpu_range *taken)
{
    *taken = ranges[place];
    count--;
    memmove(&ranges[place], &ranges[place + 1], (count - place) * sizeof *ranges);
}

bool hostgpu_registry_add(const hostgpu_range *range)
{
    pthread_mutex_lock(&hostgpu_registry_lock);
    const bool has_room = make_room();
    if (has_room) {
        size_t place = ranges_up_to(range->start);

        memmove(&ranges[place + 1], &ranges[place], (count - place) * sizeof *ranges);
        ranges[place] = *range;
        count++;
    }
    pthread_mutex_unlock(&hostgpu_registry_lock);
    return has_room;
}

bool hostgpu_registry_take(const void *start, hostgpu_memory_kind kind, hostgpu_range *taken)
{
    bool is_there;

    pthread_mutex_lock(&hostgpu_registry_lock);
    const size_t place = ranges_up_to((uintptr_t)start);
    is_there =
        place && ranges[place - 1].start == (uintptr_t)start && ranges[place - 1].kind == kind;
    if (is_there) take_at(place - 1, taken);
    pthread_mutex_unlock(&hostgpu_registry_lock);
    return is_there;
}

bool hostgpu_registry_find(const void *address, hostgpu_range *found)
{
    pthread_mutex_lock(&hostgpu_registry_lock);
    const size_t place = ranges_up_to((uintptr_t)address);
    const bool is_there =
        place && (uintptr_t)address - ranges[place - 1].start < ranges[place - 1].bytes;
    if (is_there) *found = ranges[place - 1];
    pthread_mutex_unlock(&hostgpu_registry_lock);
    return is_there;
}

void hostgpu_registry_visit(void (*visit)(const hostgpu_range *range))
{
    pthread_mutex_lock(&hostgpu_registry_lock);
    for (size_t i = 0; i < count; i++) visit(&ranges[i]);
    pthread_mutex_unlock(&hostgpu_registry_lock);
}

bool hostgpu_registry_take_owned(hostgpu_life life, hostgpu_range *taken)
{
    size_t place = 0;

    pthread_mutex_lock(&hostgpu_registry_lock);
    while (place < count &&
           (ranges[place].life.context != life.context || ranges[place].life.number != life.number))
        place++;
    const bool is_there = place < count;
    if (is_there) take_at(place, taken);
    pthread_mutex_unlock(&hostgpu_registry_lock);
    return is_there;
}

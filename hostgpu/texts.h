/* texts.h - functions that give the name of a status, and what it means. */
#ifndef HOSTGPU_TEXTS_H
#define HOSTGPU_TEXTS_H

#define HOSTGPU_NAME_CASE(name, text)                                                              \
    case name:                                                                                     \
        return #name;
#define HOSTGPU_TEXT_CASE(name, text)                                                              \
    case name:                                                                                     \
        return text;

/* A function of a status, by a list of X(name, text); `other` is for statuses that it lacks. */
#define HOSTGPU_DEFINE_TEXTS(function, type, LIST, CASE, other)                                    \
    const char *function(type status)                                                              \
    {                                                                                              \
        switch (status) {                                                                          \
            LIST(CASE)                                                                             \
        default:                                                                                   \
            return other;                                                                          \
        }                                                                                          \
    }

#endif

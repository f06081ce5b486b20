/* The one function of libm that the command calls, in progress bars and in templates (`2 ** 0.5`). libm is
 * loaded when it is first called: linked, it is looked up, mapped and set up at every start. */

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

typedef double function(double, double);

double pow(double base, double exponent) {
    static function *_Atomic known;
    function *found = atomic_load_explicit(&known, memory_order_acquire);
    if (!found) {
        void *libm = dlopen("libm.so.6", RTLD_NOW);
        found = libm ? (function *)dlsym(libm, "pow") : NULL;
        if (!found) {
            /* As the loader ends a program that misses a library. */
            fprintf(stderr, "formsvc: %s\n", dlerror());
            _exit(127);
        }
        atomic_store_explicit(&known, found, memory_order_release);
    }
    return found(base, exponent);
}

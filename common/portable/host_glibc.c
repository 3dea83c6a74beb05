// What gcc 12's own archives ask of a glibc newer than 2.34, answered here, so that a program that carries them (deploy/cmake/one_file.cmake)
// runs with 2.34: libgcc_eh wants _dl_find_object (2.35), libstdc++ wants arc4random (2.36). The program's own definitions come before the
// host's, whatever the host has.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#if __GLIBC_PREREQ(2, 35)

struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

// Notes the object that has `address` in one of its segments. An object without unwind tables is none to the unwinder.
static int look(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct search* search = data;
  const ElfW(Phdr)* tables = NULL;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  int inside = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    if (header->p_type == PT_GNU_EH_FRAME) tables = header;
    if (header->p_type != PT_LOAD) continue;
    const uintptr_t first = info->dlpi_addr + header->p_vaddr, past = first + header->p_memsz;
    if (first < begin) begin = first;
    if (past > end) end = past;
    inside |= search->address >= first && search->address < past;
  }
  if (!inside || tables == NULL) return inside;
  search->found->dlfo_map_start = (void*)begin;
  search->found->dlfo_map_end = (void*)end;
  search->found->dlfo_eh_frame = (void*)(info->dlpi_addr + tables->p_vaddr);
  return inside;
}

__attribute__((visibility("hidden"))) int _dl_find_object(void* address, struct dl_find_object* result) {
  *result = (struct dl_find_object){0};
  struct search search = {(uintptr_t)address, result};
  dl_iterate_phdr(look, &search);
  return result->dlfo_eh_frame != NULL ? 0 : -1;
}

#endif

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t number;
  for (;;) {
    const ssize_t got = getrandom(&number, sizeof number, 0);
    if (got == (ssize_t)sizeof number) return number;
    // The kernel has random numbers or none: a guess would be worse than the end.
    if (got < 0 && errno != EINTR) abort();
  }
}

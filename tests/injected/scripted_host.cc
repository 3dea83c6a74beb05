// For tests alone, by LD_PRELOAD: a host whose disk and wall clock are what the file that SASSAY_SCRIPTED_HOST names
// says. It is looked at again at each call:
//
//   disk_free RATIO      what statvfs says of every folder
//   wall_offset SECONDS  how far the wall clock was set
#include <dlfcn.h>
#include <sys/statvfs.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define EXPORT __attribute__((visibility("default")))

namespace {

// No streams and no allocation: clock_gettime is called everywhere. `missing` where the file does not say.
double Value(const char* key, double missing) {
  const char* path = getenv("SASSAY_SCRIPTED_HOST");
  FILE* file = path == nullptr ? nullptr : fopen(path, "re");
  if (file == nullptr) return missing;
  char name[64];
  double value = 0;
  double found = missing;
  while (fscanf(file, "%63s %lf", name, &value) == 2) {
    if (strcmp(name, key) == 0) found = value;
  }
  fclose(file);
  return found;
}

}  // namespace

extern "C" {

EXPORT int statvfs(const char* path, struct statvfs* disk) {
  static const auto real = reinterpret_cast<int (*)(const char*, struct statvfs*)>(dlsym(RTLD_NEXT, "statvfs"));
  const int result = real(path, disk);
  const double free = Value("disk_free", -1);
  if (result == 0 && free >= 0) disk->f_bavail = static_cast<fsblkcnt_t>(free * static_cast<double>(disk->f_blocks));
  return result;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec* now) {
  static const auto real = reinterpret_cast<int (*)(clockid_t, struct timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += static_cast<time_t>(Value("wall_offset", 0));
  return result;
}

}  // extern "C"

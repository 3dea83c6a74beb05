// A kernel that launches another one; admission refuses it.
__global__ void child(float* p) { p[0] = 1; }
__global__ void parent(float* p) { child<<<1, 1>>>(p); }

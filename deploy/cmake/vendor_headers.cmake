# Headers of NVIDIA's libraries that the judge's baselines are built against. Nothing of them is linked: the libraries are
# found at run time. Where a header is missing, that baseline says UNAVAILABLE (a laptop needs none).
file(REAL_PATH ${PROJECT_SOURCE_DIR}/.venv/cuda wheels)  # …/site-packages/nvidia/cu13
find_path(SASSAY_CUBLASLT_INCLUDE cublasLt.h HINTS ${SASSAY_CUDA_INCLUDE} ${wheels}/include)
find_path(SASSAY_CUDNN_INCLUDE cudnn.h HINTS ${SASSAY_CUDA_INCLUDE} ${wheels}/../cudnn/include)
# deploy/install_dependencies.sh puts the wheel nvidia-cudnn-frontend into .venv and this name beside it.
find_path(SASSAY_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h HINTS ${PROJECT_SOURCE_DIR}/.venv/cudnn_frontend)

if(NOT SASSAY_CUBLASLT_INCLUDE)
  message(STATUS "No cublasLt.h: built without the cuBLASLt baseline (pip install nvidia-cublas, or a CUDA toolkit)")
endif()
if(NOT SASSAY_CUDNN_INCLUDE OR NOT SASSAY_CUDNN_FRONTEND_INCLUDE)
  message(STATUS "No cudnn.h or cudnn_frontend.h: built without the cuDNN baseline "
                 "(pip install nvidia-cudnn-cu13 nvidia-cudnn-frontend)")
endif()

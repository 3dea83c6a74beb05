// Lists of asm operands by length, for the instructions whose registers are many.
#pragma once

#define SASSAY_LIST_1 "%0"
#define SASSAY_LIST_2 "%0, %1"
#define SASSAY_LIST_4 "%0, %1, %2, %3"
#define SASSAY_LIST_8 SASSAY_LIST_4 ", %4, %5, %6, %7"
#define SASSAY_LIST_12 SASSAY_LIST_8 ", %8, %9, %10, %11"
#define SASSAY_LIST_16 SASSAY_LIST_12 ", %12, %13, %14, %15"
#define SASSAY_LIST_20 SASSAY_LIST_16 ", %16, %17, %18, %19"
#define SASSAY_LIST_24 SASSAY_LIST_20 ", %20, %21, %22, %23"
#define SASSAY_LIST_28 SASSAY_LIST_24 ", %24, %25, %26, %27"
#define SASSAY_LIST_32 SASSAY_LIST_28 ", %28, %29, %30, %31"
#define SASSAY_LIST_36 SASSAY_LIST_32 ", %32, %33, %34, %35"
#define SASSAY_LIST_40 SASSAY_LIST_36 ", %36, %37, %38, %39"
#define SASSAY_LIST_44 SASSAY_LIST_40 ", %40, %41, %42, %43"
#define SASSAY_LIST_48 SASSAY_LIST_44 ", %44, %45, %46, %47"
#define SASSAY_LIST_52 SASSAY_LIST_48 ", %48, %49, %50, %51"
#define SASSAY_LIST_56 SASSAY_LIST_52 ", %52, %53, %54, %55"
#define SASSAY_LIST_60 SASSAY_LIST_56 ", %56, %57, %58, %59"
#define SASSAY_LIST_64 SASSAY_LIST_60 ", %60, %61, %62, %63"
#define SASSAY_LIST_68 SASSAY_LIST_64 ", %64, %65, %66, %67"
#define SASSAY_LIST_72 SASSAY_LIST_68 ", %68, %69, %70, %71"
#define SASSAY_LIST_76 SASSAY_LIST_72 ", %72, %73, %74, %75"
#define SASSAY_LIST_80 SASSAY_LIST_76 ", %76, %77, %78, %79"
#define SASSAY_LIST_84 SASSAY_LIST_80 ", %80, %81, %82, %83"
#define SASSAY_LIST_88 SASSAY_LIST_84 ", %84, %85, %86, %87"
#define SASSAY_LIST_92 SASSAY_LIST_88 ", %88, %89, %90, %91"
#define SASSAY_LIST_96 SASSAY_LIST_92 ", %92, %93, %94, %95"
#define SASSAY_LIST_100 SASSAY_LIST_96 ", %96, %97, %98, %99"
#define SASSAY_LIST_104 SASSAY_LIST_100 ", %100, %101, %102, %103"
#define SASSAY_LIST_108 SASSAY_LIST_104 ", %104, %105, %106, %107"
#define SASSAY_LIST_112 SASSAY_LIST_108 ", %108, %109, %110, %111"
#define SASSAY_LIST_116 SASSAY_LIST_112 ", %112, %113, %114, %115"
#define SASSAY_LIST_120 SASSAY_LIST_116 ", %116, %117, %118, %119"
#define SASSAY_LIST_124 SASSAY_LIST_120 ", %120, %121, %122, %123"
#define SASSAY_LIST_128 SASSAY_LIST_124 ", %124, %125, %126, %127"

// C is a constraint, such as "+f".
#define SASSAY_EACH_1(C, r) C(r[0])
#define SASSAY_EACH_2(C, r) C(r[0]), C(r[1])
#define SASSAY_EACH_4(C, r) C(r[0]), C(r[1]), C(r[2]), C(r[3])
#define SASSAY_EACH_8(C, r) SASSAY_EACH_4(C, r), C(r[4]), C(r[5]), C(r[6]), C(r[7])
#define SASSAY_EACH_12(C, r) SASSAY_EACH_8(C, r), C(r[8]), C(r[9]), C(r[10]), C(r[11])
#define SASSAY_EACH_16(C, r) SASSAY_EACH_12(C, r), C(r[12]), C(r[13]), C(r[14]), C(r[15])
#define SASSAY_EACH_20(C, r) SASSAY_EACH_16(C, r), C(r[16]), C(r[17]), C(r[18]), C(r[19])
#define SASSAY_EACH_24(C, r) SASSAY_EACH_20(C, r), C(r[20]), C(r[21]), C(r[22]), C(r[23])
#define SASSAY_EACH_28(C, r) SASSAY_EACH_24(C, r), C(r[24]), C(r[25]), C(r[26]), C(r[27])
#define SASSAY_EACH_32(C, r) SASSAY_EACH_28(C, r), C(r[28]), C(r[29]), C(r[30]), C(r[31])
#define SASSAY_EACH_36(C, r) SASSAY_EACH_32(C, r), C(r[32]), C(r[33]), C(r[34]), C(r[35])
#define SASSAY_EACH_40(C, r) SASSAY_EACH_36(C, r), C(r[36]), C(r[37]), C(r[38]), C(r[39])
#define SASSAY_EACH_44(C, r) SASSAY_EACH_40(C, r), C(r[40]), C(r[41]), C(r[42]), C(r[43])
#define SASSAY_EACH_48(C, r) SASSAY_EACH_44(C, r), C(r[44]), C(r[45]), C(r[46]), C(r[47])
#define SASSAY_EACH_52(C, r) SASSAY_EACH_48(C, r), C(r[48]), C(r[49]), C(r[50]), C(r[51])
#define SASSAY_EACH_56(C, r) SASSAY_EACH_52(C, r), C(r[52]), C(r[53]), C(r[54]), C(r[55])
#define SASSAY_EACH_60(C, r) SASSAY_EACH_56(C, r), C(r[56]), C(r[57]), C(r[58]), C(r[59])
#define SASSAY_EACH_64(C, r) SASSAY_EACH_60(C, r), C(r[60]), C(r[61]), C(r[62]), C(r[63])
#define SASSAY_EACH_68(C, r) SASSAY_EACH_64(C, r), C(r[64]), C(r[65]), C(r[66]), C(r[67])
#define SASSAY_EACH_72(C, r) SASSAY_EACH_68(C, r), C(r[68]), C(r[69]), C(r[70]), C(r[71])
#define SASSAY_EACH_76(C, r) SASSAY_EACH_72(C, r), C(r[72]), C(r[73]), C(r[74]), C(r[75])
#define SASSAY_EACH_80(C, r) SASSAY_EACH_76(C, r), C(r[76]), C(r[77]), C(r[78]), C(r[79])
#define SASSAY_EACH_84(C, r) SASSAY_EACH_80(C, r), C(r[80]), C(r[81]), C(r[82]), C(r[83])
#define SASSAY_EACH_88(C, r) SASSAY_EACH_84(C, r), C(r[84]), C(r[85]), C(r[86]), C(r[87])
#define SASSAY_EACH_92(C, r) SASSAY_EACH_88(C, r), C(r[88]), C(r[89]), C(r[90]), C(r[91])
#define SASSAY_EACH_96(C, r) SASSAY_EACH_92(C, r), C(r[92]), C(r[93]), C(r[94]), C(r[95])
#define SASSAY_EACH_100(C, r) SASSAY_EACH_96(C, r), C(r[96]), C(r[97]), C(r[98]), C(r[99])
#define SASSAY_EACH_104(C, r) SASSAY_EACH_100(C, r), C(r[100]), C(r[101]), C(r[102]), C(r[103])
#define SASSAY_EACH_108(C, r) SASSAY_EACH_104(C, r), C(r[104]), C(r[105]), C(r[106]), C(r[107])
#define SASSAY_EACH_112(C, r) SASSAY_EACH_108(C, r), C(r[108]), C(r[109]), C(r[110]), C(r[111])
#define SASSAY_EACH_116(C, r) SASSAY_EACH_112(C, r), C(r[112]), C(r[113]), C(r[114]), C(r[115])
#define SASSAY_EACH_120(C, r) SASSAY_EACH_116(C, r), C(r[116]), C(r[117]), C(r[118]), C(r[119])
#define SASSAY_EACH_124(C, r) SASSAY_EACH_120(C, r), C(r[120]), C(r[121]), C(r[122]), C(r[123])
#define SASSAY_EACH_128(C, r) SASSAY_EACH_124(C, r), C(r[124]), C(r[125]), C(r[126]), C(r[127])

// X(N, count, the eight numbers from count on) for every accumulator of wgmma.
#define SASSAY_WGMMA_COUNTS(X) \
  X(8, 4, 4, 5, 6, 7, 8, 9, 10, 11) \
  X(16, 8, 8, 9, 10, 11, 12, 13, 14, 15) \
  X(24, 12, 12, 13, 14, 15, 16, 17, 18, 19) \
  X(32, 16, 16, 17, 18, 19, 20, 21, 22, 23) \
  X(40, 20, 20, 21, 22, 23, 24, 25, 26, 27) \
  X(48, 24, 24, 25, 26, 27, 28, 29, 30, 31) \
  X(56, 28, 28, 29, 30, 31, 32, 33, 34, 35) \
  X(64, 32, 32, 33, 34, 35, 36, 37, 38, 39) \
  X(72, 36, 36, 37, 38, 39, 40, 41, 42, 43) \
  X(80, 40, 40, 41, 42, 43, 44, 45, 46, 47) \
  X(88, 44, 44, 45, 46, 47, 48, 49, 50, 51) \
  X(96, 48, 48, 49, 50, 51, 52, 53, 54, 55) \
  X(104, 52, 52, 53, 54, 55, 56, 57, 58, 59) \
  X(112, 56, 56, 57, 58, 59, 60, 61, 62, 63) \
  X(120, 60, 60, 61, 62, 63, 64, 65, 66, 67) \
  X(128, 64, 64, 65, 66, 67, 68, 69, 70, 71) \
  X(136, 68, 68, 69, 70, 71, 72, 73, 74, 75) \
  X(144, 72, 72, 73, 74, 75, 76, 77, 78, 79) \
  X(152, 76, 76, 77, 78, 79, 80, 81, 82, 83) \
  X(160, 80, 80, 81, 82, 83, 84, 85, 86, 87) \
  X(168, 84, 84, 85, 86, 87, 88, 89, 90, 91) \
  X(176, 88, 88, 89, 90, 91, 92, 93, 94, 95) \
  X(184, 92, 92, 93, 94, 95, 96, 97, 98, 99) \
  X(192, 96, 96, 97, 98, 99, 100, 101, 102, 103) \
  X(200, 100, 100, 101, 102, 103, 104, 105, 106, 107) \
  X(208, 104, 104, 105, 106, 107, 108, 109, 110, 111) \
  X(216, 108, 108, 109, 110, 111, 112, 113, 114, 115) \
  X(224, 112, 112, 113, 114, 115, 116, 117, 118, 119) \
  X(232, 116, 116, 117, 118, 119, 120, 121, 122, 123) \
  X(240, 120, 120, 121, 122, 123, 124, 125, 126, 127) \
  X(248, 124, 124, 125, 126, 127, 128, 129, 130, 131) \
  X(256, 128, 128, 129, 130, 131, 132, 133, 134, 135)

// X(count, the three numbers from count on) for every length of tcgen05.ld and st.
#define SASSAY_TCGEN05_COUNTS(X) \
  X(1, 1, 2, 3) \
  X(2, 2, 3, 4) \
  X(4, 4, 5, 6) \
  X(8, 8, 9, 10) \
  X(16, 16, 17, 18) \
  X(32, 32, 33, 34) \
  X(64, 64, 65, 66) \
  X(128, 128, 129, 130)

#include "common/bundle/elf.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/files.h"

namespace sassay {
namespace {

using ::testing::HasSubstr;

class ElfTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto bytes = ReadFile(std::filesystem::path(SASSAY_BUNDLE_FIXTURES) / "kernels.sm_90a.cubin");
    ASSERT_TRUE(bytes.ok());
    bytes_ = *bytes;
  }
  Elf64_Ehdr Header() const { return *ReadAt<Elf64_Ehdr>(bytes_, 0); }
  void Put(const Elf64_Ehdr& header) { std::memcpy(bytes_.data(), &header, sizeof(header)); }
  Elf64_Shdr Section(int index) const {
    return *ReadAt<Elf64_Shdr>(bytes_, Header().e_shoff + index * sizeof(Elf64_Shdr));
  }
  void Put(int index, const Elf64_Shdr& section) {
    std::memcpy(bytes_.data() + Header().e_shoff + index * sizeof(Elf64_Shdr), &section, sizeof(section));
  }
  int IndexOf(uint32_t type) const {
    for (int i = 0; i < Header().e_shnum; ++i) {
      if (Section(i).sh_type == type) return i;
    }
    return -1;
  }
  std::string Error() const { return std::string(Elf::Parse(bytes_).status().message()); }
  std::string bytes_;
};

TEST_F(ElfTest, ReadsSectionsAndSymbolsByName) {
  const auto elf = Elf::Parse(bytes_);
  ASSERT_TRUE(elf.ok()) << elf.status();
  ASSERT_NE(elf->FindSection(".text.gemm"), nullptr);
  EXPECT_FALSE(elf->FindSection(".text.gemm")->bytes.empty());
  EXPECT_EQ(elf->FindSection(".text.other"), nullptr);
  EXPECT_GT(elf->symbols().size(), 10u);
}

TEST_F(ElfTest, RefusesASectionThatReachesPastTheEnd) {
  Elf64_Shdr section = Section(2);
  section.sh_size = bytes_.size();
  Put(2, section);
  EXPECT_THAT(Error(), HasSubstr("section 2"));
}

TEST_F(ElfTest, RefusesASectionWhoseOffsetAndSizeWrapAround) {
  Elf64_Shdr section = Section(2);
  section.sh_offset = UINT64_MAX - 3;
  section.sh_size = 8;
  Put(2, section);
  EXPECT_THAT(Error(), HasSubstr("section 2"));
}

TEST_F(ElfTest, RefusesSectionsThatShareBytes) {
  Elf64_Shdr section = Section(2);
  section.sh_offset = Section(1).sh_offset + 1;
  section.sh_size = 8;
  Put(2, section);
  EXPECT_THAT(Error(), HasSubstr("share the bytes"));
}

TEST_F(ElfTest, RefusesASectionTableThatWrapsAround) {
  Elf64_Ehdr header = Header();
  header.e_shoff = UINT64_MAX - 63;
  Put(header);
  EXPECT_THAT(Error(), HasSubstr("section table"));
}

TEST_F(ElfTest, RefusesSegmentsOutsideTheFile) {
  const Elf64_Ehdr good = Header();
  ASSERT_GT(good.e_phnum, 0);
  Elf64_Phdr segment = *ReadAt<Elf64_Phdr>(bytes_, good.e_phoff);
  segment.p_filesz = UINT64_MAX;
  std::memcpy(bytes_.data() + good.e_phoff, &segment, sizeof(segment));
  EXPECT_THAT(Error(), HasSubstr("segment 0"));
  Elf64_Ehdr header = good;
  header.e_phoff = bytes_.size() - 1;
  Put(header);
  EXPECT_THAT(Error(), HasSubstr("program headers"));
}

TEST_F(ElfTest, RefusesExtendedNumberingAndForeignEntrySizes) {
  const Elf64_Ehdr good = Header();
  Elf64_Ehdr header = good;
  header.e_shnum = 0;
  Put(header);
  EXPECT_THAT(Error(), HasSubstr("e_shnum"));
  header = good;
  header.e_shentsize = 40;
  Put(header);
  EXPECT_THAT(Error(), HasSubstr("e_shentsize"));
  header = good;
  header.e_shstrndx = header.e_shnum;
  Put(header);
  EXPECT_THAT(Error(), HasSubstr("e_shstrndx"));
}

TEST_F(ElfTest, RefusesASecondSymbolTableAndASymbolNameWithoutEnd) {
  const int table = IndexOf(SHT_SYMTAB);
  ASSERT_GT(table, 0);
  Elf64_Shdr section = Section(table);
  const Elf64_Shdr good = section;
  section.sh_link = 9999;
  Put(table, section);
  EXPECT_THAT(Error(), HasSubstr("string table is not a section"));
  section = good;
  section.sh_size -= 1;
  Put(table, section);
  EXPECT_THAT(Error(), HasSubstr("ends inside an entry"));
  Put(table, good);
  Elf64_Sym symbol = *ReadAt<Elf64_Sym>(bytes_, good.sh_offset + sizeof(Elf64_Sym));
  symbol.st_name = UINT32_MAX;
  std::memcpy(bytes_.data() + good.sh_offset + sizeof(symbol), &symbol, sizeof(symbol));
  EXPECT_THAT(Error(), HasSubstr("the name of symbol 1 has no end"));
}

TEST(ReadAtTest, NeverReadsOutside) {
  const absl::string_view four("\1\0\0\0", 4);
  EXPECT_EQ(*ReadAt<uint32_t>(four, 0), 1u);
  EXPECT_FALSE(ReadAt<uint32_t>(four, 1).has_value());
  EXPECT_FALSE(ReadAt<uint8_t>(four, 4).has_value());
  EXPECT_FALSE(ReadAt<uint32_t>(four, UINT64_MAX).has_value());
  EXPECT_FALSE(ReadAt<uint64_t>("", 0).has_value());
}

}  // namespace
}  // namespace sassay

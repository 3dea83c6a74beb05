# cmake -DOUT=x.cc -DNAME=Function -DROOT=dir -DFILES="a;b" -P embed_texts.cmake: turns text files into a table of (path below ROOT,
# content), which sassay::agent::NAME() gives.
set(texts "")
foreach(file ${FILES})
  file(READ ${ROOT}/${file} text)
  string(APPEND texts "    {\"${file}\", R\"sassay~text(${text})sassay~text\"},\n")
endforeach()
file(WRITE ${OUT} "#include \"agent/knowledge/embedded_text.h\"

namespace sassay::agent {
namespace {
constexpr EmbeddedText kTexts[] = {
${texts}};
}  // namespace

absl::Span<const EmbeddedText> ${NAME}() { return kTexts; }
}  // namespace sassay::agent
")

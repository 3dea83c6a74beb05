# The Python files of the sandboxed child as string literals: FOLDER, FILES (relative, comma-separated), OUTPUT.
string(REPLACE "," ";" files "${FILES}")
set(text "constexpr EmbeddedFile kChildFiles[] = {\n")
foreach(file ${files})
  file(READ ${FOLDER}/${file} content)
  string(APPEND text "    {\"${file}\", R\"sassay(${content})sassay\"},\n")
endforeach()
file(WRITE ${OUTPUT} "${text}};\n")

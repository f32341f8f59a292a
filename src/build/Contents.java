import java.io.IOException;
import java.util.List;
import java.util.jar.JarFile;

/**
 * Checks that the library's jar has no class of the command line, and the tools jar has them all.
 */
final class Contents {
  private static final String TOOLS = "dev/verbena/tools/";

  private Contents() {}

  /** Takes the path of the library's jar without its ending. */
  public static void main(String[] args) throws IOException {
    List<String> inLibrary = entries(args[0] + ".jar");
    if (inLibrary.stream().anyMatch(name -> name.startsWith(TOOLS))) {
      throw new IllegalStateException(args[0] + ".jar contains " + TOOLS);
    }
    List<String> inTools = entries(args[0] + "-tools.jar");
    for (String needed :
        List.of(
            TOOLS + "Main.class",
            TOOLS + "qualify/datapath.c",
            "picocli/CommandLine.class",
            "com/google/gson/Gson.class",
            "org/HdrHistogram/Histogram.class")) {
      if (!inTools.contains(needed)) {
        throw new IllegalStateException(args[0] + "-tools.jar lacks " + needed);
      }
    }
    for (String name : inLibrary) {
      if (name.endsWith(".class") && !name.equals("module-info.class") && !inTools.contains(name)) {
        throw new IllegalStateException(args[0] + "-tools.jar lacks " + name);
      }
    }
    for (String name : inTools) {
      if (name.matches("dev/verbena/.*\\.class")
          && !name.startsWith(TOOLS)
          && !inLibrary.contains(name)) {
        throw new IllegalStateException(
            args[0] + "-tools.jar has " + name + " of an earlier build: mvn clean");
      }
    }
  }

  private static List<String> entries(String path) throws IOException {
    try (JarFile jar = new JarFile(path)) {
      return jar.stream().map(entry -> entry.getName()).toList();
    }
  }
}

package dev.verbena.disni;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.ibm.disni.util.MemoryUtils;
import com.ibm.disni.util.NativeAffinity;
import com.ibm.disni.verbs.RdmaEventChannel;
import com.ibm.disni.verbs.RdmaProvider;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which class path runs DiSNI's programs on Verbena, and what a wrong one says. */
class ReplacedClassesTest {
  private static final Path MANIFEST = Path.of("src/main/manifest/MANIFEST.MF");

  /** What a program does. */
  static final class Program {
    private Program() {}

    public static void main(String[] arguments) throws IOException {
      if (arguments.length > 0) {
        ReplacedClasses.install();
      }
      RdmaEventChannel channel = RdmaEventChannel.createEventChannel();
      NativeAffinity.setAffinity(NativeAffinity.getAffinity());
      System.out.println(
          RdmaProvider.provider().getClass().getSimpleName()
              + (MemoryUtils.getAddress(ByteBuffer.allocateDirect(1)) == 0 ? " 0" : " ok"));
      channel.destroyEventChannel();
    }
  }

  /** Uses DiSNI, and then wants Verbena's. */
  static final class TooLate {
    private TooLate() {}

    public static void main(String[] arguments) throws Exception {
      Class.forName("com.ibm.disni.util.MemoryUtils");
      ReplacedClasses.install();
    }
  }

  @Test
  void thisArtifactFirst() throws Exception {
    List<String> path =
        List.of(
            OtherJvm.own(),
            OtherJvm.tests(),
            OtherJvm.library(),
            OtherJvm.disni(),
            OtherJvm.logging());
    assertEquals("DisniProvider ok", OtherJvm.run(0, List.of(), path, Program.class));
    String check = OtherJvm.run(0, List.of(), path, Check.class);
    assertTrue(check.startsWith("DiSNI runs on Verbena "), check);
  }

  @Test
  void disniFirstIsReportedInOneSentence() throws Exception {
    String message = OtherJvm.run(1, List.of(), disniFirst(), Check.class);
    assertEquals(1, message.lines().count(), message);
    assertTrue(message.contains("is DiSNI's own, of jar:file:"), message);
    assertTrue(message.contains("put verbena-disni before disni on the class path"), message);
  }

  @Test
  void disniFirstWithTheAgent(@TempDir Path folder) throws Exception {
    List<String> agent = List.of("-javaagent:" + agent(folder));
    assertEquals("DisniProvider ok", OtherJvm.run(0, agent, disniFirst(), Program.class));
    String check = OtherJvm.run(0, agent, disniFirst(), Check.class);
    assertTrue(check.startsWith("DiSNI runs on Verbena "), check);
  }

  @Test
  void disniFirstWithInstall() throws Exception {
    assertEquals(
        "DisniProvider ok", OtherJvm.run(0, List.of(), disniFirst(), Program.class, "install"));
  }

  @Test
  void installAfterDisniWasUsed() throws Exception {
    String message = OtherJvm.run(1, List.of(), disniFirst(), TooLate.class);
    assertTrue(message.contains("com.ibm.disni.util.MemoryUtils is DiSNI's own"), message);
  }

  @Test
  void installWithoutDisni() throws Exception {
    String message =
        OtherJvm.run(
            1,
            List.of(),
            List.of(OtherJvm.own(), OtherJvm.tests(), OtherJvm.library()),
            Program.class,
            "install");
    assertTrue(message.contains("is not visible to this class loader: add disni-2.1.jar"), message);
  }

  private static List<String> disniFirst() {
    return List.of(
        OtherJvm.disni(), OtherJvm.logging(), OtherJvm.tests(), OtherJvm.own(), OtherJvm.library());
  }

  /** Packs this artifact as its build does. */
  private static Path agent(Path folder) throws IOException {
    Path jar = folder.resolve("verbena-disni.jar");
    Path classes = Path.of(OtherJvm.own());
    Manifest manifest = new Manifest(Files.newInputStream(MANIFEST));
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest);
        Stream<Path> files = Files.walk(classes)) {
      for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
        out.putNextEntry(new JarEntry(classes.relativize(file).toString()));
        Files.copy(file, out);
      }
    }
    return jar;
  }
}

package dev.verbena.release;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each of Central's rules is found broken by {@link CentralBundle}, and a good bundle passes. */
class CentralBundleTest {
  private static final String BASE = "dev/verbena/verbena/0.1.0/verbena-0.1.0";
  private static final String POM =
      """
      <project xmlns="http://maven.apache.org/POM/4.0.0">
        <groupId>dev.verbena</groupId>
        <artifactId>verbena</artifactId>
        <version>0.1.0</version>
        <name>Verbena</name>
        <description>RDMA verbs</description>
        <url>https://example.org</url>
        <licenses><license><name>Apache-2.0</name><url>https://example.org/l</url></license></licenses>
        <developers><developer><name>A</name><email>a@example.org</email></developer></developers>
        <scm>
          <url>https://example.org</url>
          <connection>scm:git:https://example.org/a.git</connection>
          <developerConnection>scm:git:ssh://example.org/a.git</developerConnection>
        </scm>
        <dependencies>
          <dependency><artifactId>picocli</artifactId><version>4.7.7</version></dependency>
        </dependencies>
      </project>
      """;

  @TempDir Path folder;
  private final Map<String, byte[]> files = new TreeMap<>();

  @BeforeEach
  void goodBundle() throws IOException {
    add(BASE + ".pom", POM.getBytes(UTF_8));
    add(BASE + ".jar", zip(Map.of("A.class", new byte[1])));
    add(BASE + "-sources.jar", zip(Map.of("A.java", new byte[1])));
    add(BASE + "-javadoc.jar", zip(Map.of("index.html", new byte[1])));
  }

  private void add(String name, byte[] content) throws IOException {
    files.put(name, content);
    files.put(name + ".asc", "good".getBytes(UTF_8));
    Path file = Files.write(folder.resolve("file"), content);
    files.put(name + ".md5", CentralBundle.digest("MD5", file).getBytes(UTF_8));
    files.put(name + ".sha1", CentralBundle.digest("SHA-1", file).getBytes(UTF_8));
    files.put(name + ".sha512", CentralBundle.digest("SHA-512", file).getBytes(UTF_8));
  }

  private byte[] zip(Map<String, byte[]> entries) throws IOException {
    Path file = folder.resolve("zip");
    try (OutputStream out = Files.newOutputStream(file);
        ZipOutputStream zip = new ZipOutputStream(out)) {
      for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
        zip.putNextEntry(new ZipEntry(entry.getKey()));
        zip.write(entry.getValue());
        zip.closeEntry();
      }
    }
    return Files.readAllBytes(file);
  }

  private List<String> violations() throws IOException {
    Path bundle = folder.resolve("bundle.zip");
    Files.write(bundle, zip(files));
    return CentralBundle.violations(
        bundle, (signature, file) -> Files.readString(signature).equals("good"));
  }

  @Test
  void aGoodBundlePasses() throws IOException {
    assertEquals(List.of(), violations());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          <name>Verbena</name>            |                          | has no <name>
          <description>RDMA verbs</description> |                    | has no <description>
          <email>a@example.org</email>    |                          | has no <developers/developer/email>
          <url>https://example.org/l</url> |                         | has no <licenses/license/url>
          scm:git:https://example.org/a.git | ${scm.url}             | <scm/connection> is not filled in: ${scm.url}
          <version>4.7.7</version>        | <version>2-SNAPSHOT</version> | the dependency picocli needs the version of a release: 2-SNAPSHOT
          """)
  void metadataOfThePomIsRequired(String part, String replacement, String violation)
      throws IOException {
    add(BASE + ".pom", POM.replace(part, replacement == null ? "" : replacement).getBytes(UTF_8));
    assertEquals(List.of(BASE + ".pom: " + violation), violations());
  }

  @Test
  void theVersionIsARelease() throws IOException {
    files.clear();
    String base = "dev/verbena/verbena/1-SNAPSHOT/verbena-1-SNAPSHOT";
    add(
        base + ".pom",
        POM.replace("0.1.0", "1-SNAPSHOT")
            .replace("<name>", "<packaging>pom</packaging><name>")
            .getBytes(UTF_8));
    assertEquals(List.of(base + ".pom: the version 1-SNAPSHOT is no release"), violations());
  }

  @Test
  void thePomIsWhereItsCoordinatesAre() throws IOException {
    add(BASE + ".pom", POM.replace("dev.verbena", "org.example").getBytes(UTF_8));
    assertEquals(
        BASE + ".pom: is not where its coordinates org.example:verbena:0.1.0 are",
        violations().getFirst());
  }

  @ParameterizedTest
  @CsvSource({".jar", "-sources.jar", "-javadoc.jar"})
  void theJarItsSourcesAndItsJavadocAreRequired(String jar) throws IOException {
    files.keySet().removeIf(name -> name.startsWith(BASE + jar));
    assertEquals(List.of(BASE + jar + ": is missing"), violations());
  }

  @Test
  void anEmptyJavadocIsFound() throws IOException {
    add(BASE + "-javadoc.jar", zip(Map.of("A.class", new byte[1])));
    assertEquals(List.of(BASE + "-javadoc.jar: holds nothing of its kind"), violations());
  }

  @Test
  void eachFileHasASignature() throws IOException {
    files.remove(BASE + ".jar.asc");
    assertEquals(List.of(BASE + ".jar: has no signature"), violations());
  }

  @Test
  void signaturesAreVerified() throws IOException {
    files.put(BASE + ".jar.asc", "of another file".getBytes(UTF_8));
    assertEquals(List.of(BASE + ".jar: has a signature that is not good"), violations());
  }

  @ParameterizedTest
  @CsvSource({"md5", "sha1"})
  void eachFileHasChecksums(String checksum) throws IOException {
    files.remove(BASE + ".pom." + checksum);
    assertEquals(List.of(BASE + ".pom: has no checksum ." + checksum), violations());
  }

  @Test
  void checksumsAreCompared() throws IOException {
    files.put(BASE + ".jar.sha512", "00".getBytes(UTF_8));
    assertEquals(List.of(BASE + ".jar: differs from its checksum .sha512"), violations());
  }

  @Test
  void nothingElseIsInTheBundle() throws IOException {
    String stray = "dev/verbena/verbena/_remote.repositories.md5";
    files.put(stray, new byte[1]);
    assertEquals(List.of(stray + ": does not belong to the artifact " + BASE), violations());
  }
}

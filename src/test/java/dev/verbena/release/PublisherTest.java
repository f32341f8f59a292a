package dev.verbena.release;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Program;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.xpath.XPathFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code src/release/publisher}, on a copy of {@code pom.xml}. */
@Tag("host")
class PublisherTest {
  @TempDir private Path folder;

  private Path pom;

  @BeforeEach
  void copy() throws IOException {
    pom = Files.copy(Path.of("pom.xml"), folder.resolve("pom.xml"));
  }

  private int run(String repository, String name, String email) throws Exception {
    try (Program script =
        Program.start("src/release/publisher", repository, name, email, pom.toString())) {
      return script.exitStatus();
    }
  }

  private String value(String path) throws Exception {
    var document = DocumentBuilderFactory.newDefaultInstance().newDocumentBuilder();
    return XPathFactory.newDefaultInstance()
        .newXPath()
        .evaluate(path, document.parse(pom.toFile()));
  }

  private void assertNames(String repository, String name, String email) throws Exception {
    assertEquals("https://" + repository, value("/project/url"));
    assertEquals("1", value("count(/project/url)"));
    assertEquals(name, value("/project/developers/developer/name"));
    assertEquals(email, value("/project/developers/developer/email"));
    assertEquals("scm:git:https://" + repository + ".git", value("/project/scm/connection"));
    assertEquals("https://" + repository + "/issues", value("/project/issueManagement/url"));
    assertEquals("1", value("count(/project/issueManagement)"));
  }

  @Test
  void namesThePublisherAndReplacesIt() throws Exception {
    assertEquals(0, run("github.com/someone/verbena", "A Name", "a@example.org"));
    assertNames("github.com/someone/verbena", "A Name", "a@example.org");
    assertEquals(0, run("example.org/verbena", "Another", "b@example.org"));
    assertNames("example.org/verbena", "Another", "b@example.org");
  }

  @ParameterizedTest
  @CsvSource({
    "https://github.com/someone/verbena, A Name, a@example.org",
    "github.com/someone/verbena, A <b> Name, a@example.org",
    "github.com/someone/verbena, A Name, a at example.org",
    "verbena, A Name, a@example.org"
  })
  void wrongArgumentsChangeNothing(String repository, String name, String email) throws Exception {
    String before = Files.readString(pom);
    assertEquals(2, run(repository, name, email));
    assertEquals(before, Files.readString(pom));
  }

  /** Either nobody, or who publishes: no name that stands for one. */
  @Test
  void pomHasNoPlaceholder() throws Exception {
    assertFalse(Files.readString(pom).contains("OWNER"));
    assertTrue(value("count(/project/url)").equals(value("count(/project/scm)")));
  }

  /** Without that, javadoc and IDEs cannot read the published sources. */
  @Test
  void sourcesRequireTheModuleOfTheirAnnotations() throws IOException {
    String descriptor = Files.readString(Path.of("src/main/java/module-info.java"));
    assertTrue(descriptor.contains("\n  requires static org.jspecify;\n"), descriptor);
  }
}

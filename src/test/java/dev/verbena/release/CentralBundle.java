package dev.verbena.release;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import java.util.zip.ZipException;
import java.util.zip.ZipInputStream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import javax.xml.xpath.XPath;
import javax.xml.xpath.XPathExpressionException;
import javax.xml.xpath.XPathFactory;
import org.w3c.dom.Document;
import org.xml.sax.SAXException;

/**
 * Checks the bundle of one artifact by the requirements that Maven Central publishes: the POM's
 * metadata, sources and javadoc, a signature and checksums for each file. What only Central can
 * know, the proof of the namespace and the key server, is not checked.
 *
 * <p>As a program: {@code CentralBundle BUNDLE.zip}; signatures are verified by {@code gpg}, with
 * the keys of {@code GNUPGHOME}.
 */
public final class CentralBundle {
  private static final Map<String, String> REQUIRED_CHECKSUMS =
      new TreeMap<>(Map.of("md5", "MD5", "sha1", "SHA-1"));

  private static final Map<String, String> CHECKSUMS =
      new TreeMap<>(
          Map.of("md5", "MD5", "sha1", "SHA-1", "sha256", "SHA-256", "sha512", "SHA-512"));

  private static final List<String> REQUIRED_IN_POM =
      List.of(
          "name",
          "description",
          "url",
          "licenses/license/name",
          "licenses/license/url",
          "developers/developer/name",
          "developers/developer/email",
          "scm/url",
          "scm/connection",
          "scm/developerConnection");

  /** Verifies a detached signature. */
  interface Signatures {
    /**
     * Returns whether a signature is that of a file.
     *
     * @param signature the signature's file
     * @param file the signed file
     * @return whether it is good
     * @throws IOException if the check cannot be made
     */
    boolean verify(Path signature, Path file) throws IOException;
  }

  private final Path root;
  private final Signatures signatures;
  private final List<String> violations = new ArrayList<>();
  private final Map<String, Path> files = new TreeMap<>();

  private CentralBundle(Path root, Signatures signatures) {
    this.root = root;
    this.signatures = signatures;
  }

  /**
   * Returns what is wrong with a bundle.
   *
   * @param bundle a zip file in the layout of a Maven repository
   * @param signatures verifies signatures
   * @return a line for each violation; empty if there is none
   * @throws IOException if the bundle cannot be read
   */
  static List<String> violations(Path bundle, Signatures signatures) throws IOException {
    Path unpacked = Files.createTempDirectory("bundle");
    try (FileSystem zip = FileSystems.newFileSystem(bundle);
        Stream<Path> entries = Files.walk(zip.getPath("/"))) {
      for (Path entry : entries.filter(Files::isRegularFile).toList()) {
        Path target = unpacked.resolve(entry.toString().substring(1));
        Files.createDirectories(target.getParent());
        Files.copy(entry, target);
      }
      return new CentralBundle(unpacked, signatures).check();
    } finally {
      delete(unpacked);
    }
  }

  private List<String> check() throws IOException {
    try (Stream<Path> entries = Files.walk(root)) {
      entries
          .filter(Files::isRegularFile)
          .forEach(file -> files.put(root.relativize(file).toString(), file));
    }
    List<String> poms = files.keySet().stream().filter(name -> name.endsWith(".pom")).toList();
    if (poms.size() != 1) {
      violations.add("one POM is expected: " + poms);
    }
    for (String pom : poms) {
      checkPom(pom);
    }
    for (String file : files.keySet()) {
      if (!isSignature(file) && !isChecksum(file)) {
        checkSignature(file);
        checkChecksums(file);
      }
    }
    return violations;
  }

  private void checkPom(String file) throws IOException {
    Document pom = parse(file);
    if (pom == null) {
      return;
    }
    String group = text(pom, "groupId");
    String artifact = text(pom, "artifactId");
    String version = text(pom, "version");
    String prefix =
        group.replace('.', '/') + "/" + artifact + "/" + version + "/" + artifact + "-" + version;
    if (!file.equals(prefix + ".pom")) {
      violations.add(
          file
              + ": is not where its coordinates "
              + group
              + ":"
              + artifact
              + ":"
              + version
              + " are");
    }
    if (version.endsWith("-SNAPSHOT")) {
      violations.add(file + ": the version " + version + " is no release");
    }
    for (String element : REQUIRED_IN_POM) {
      String value = text(pom, element);
      if (value.isEmpty()) {
        violations.add(file + ": has no <" + element + ">");
      } else if (value.contains("${")) {
        violations.add(file + ": <" + element + "> is not filled in: " + value);
      }
    }
    checkDependencies(file, pom);
    for (String other : files.keySet()) {
      if (!other.startsWith(prefix)) {
        violations.add(other + ": does not belong to the artifact " + prefix);
      }
    }
    String packaging = text(pom, "packaging");
    if (packaging.isEmpty() || packaging.equals("jar")) {
      checkJar(prefix + ".jar", name -> name.endsWith(".class"));
      checkJar(prefix + "-sources.jar", name -> name.endsWith(".java"));
      checkJar(prefix + "-javadoc.jar", name -> name.endsWith(".html"));
    }
  }

  private void checkDependencies(String file, Document pom) {
    int count = Integer.parseInt(text(pom, "dependencies/dependency", "count(%s)"));
    for (int i = 1; i <= count; i++) {
      String dependency = "dependencies/dependency[" + i + "]/";
      String version = text(pom, dependency + "version");
      if (version.isEmpty() || version.contains("${") || version.endsWith("-SNAPSHOT")) {
        violations.add(
            file
                + ": the dependency "
                + text(pom, dependency + "artifactId")
                + " needs the version of a release: "
                + version);
      }
    }
  }

  /** A jar that is there holds what its name promises. */
  private void checkJar(String file, Predicate<String> content) throws IOException {
    Path jar = files.get(file);
    if (jar == null) {
      violations.add(file + ": is missing");
      return;
    }
    boolean found = false;
    try (InputStream in = Files.newInputStream(jar);
        ZipInputStream zip = new ZipInputStream(in)) {
      for (var entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
        found |= content.test(entry.getName());
      }
    } catch (ZipException e) {
      violations.add(file + ": is no jar: " + e.getMessage());
      return;
    }
    if (!found) {
      violations.add(file + ": holds nothing of its kind");
    }
  }

  private void checkSignature(String file) throws IOException {
    Path signature = files.get(file + ".asc");
    if (signature == null) {
      violations.add(file + ": has no signature");
    } else if (!signatures.verify(signature, files.get(file))) {
      violations.add(file + ": has a signature that is not good");
    }
  }

  private void checkChecksums(String file) throws IOException {
    for (Map.Entry<String, String> checksum : CHECKSUMS.entrySet()) {
      Path stated = files.get(file + "." + checksum.getKey());
      if (stated == null) {
        if (REQUIRED_CHECKSUMS.containsKey(checksum.getKey())) {
          violations.add(file + ": has no checksum ." + checksum.getKey());
        }
      } else if (!Files.readString(stated)
          .strip()
          .equals(digest(checksum.getValue(), files.get(file)))) {
        violations.add(file + ": differs from its checksum ." + checksum.getKey());
      }
    }
  }

  private static boolean isSignature(String file) {
    return file.endsWith(".asc");
  }

  private static boolean isChecksum(String file) {
    return CHECKSUMS.containsKey(file.substring(file.lastIndexOf('.') + 1));
  }

  private Document parse(String file) throws IOException {
    try {
      return DocumentBuilderFactory.newInstance()
          .newDocumentBuilder()
          .parse(files.get(file).toFile());
    } catch (SAXException e) {
      violations.add(file + ": is no XML: " + e.getMessage());
      return null;
    } catch (ParserConfigurationException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String text(Document pom, String path) {
    return text(pom, path, "string(%s)");
  }

  private static String text(Document pom, String path, String function) {
    XPath xpath = XPathFactory.newInstance().newXPath();
    try {
      return xpath.evaluate(function.formatted("/project/" + path), pom).strip();
    } catch (XPathExpressionException e) {
      throw new IllegalArgumentException(path, e);
    }
  }

  /**
   * Returns a digest of a file in hexadecimal digits.
   *
   * @param algorithm the name of the algorithm
   * @param file the file
   * @return the digits
   * @throws IOException if the file cannot be read
   */
  static String digest(String algorithm, Path file) throws IOException {
    try {
      MessageDigest digest = MessageDigest.getInstance(algorithm);
      return HexFormat.of().formatHex(digest.digest(Files.readAllBytes(file)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void delete(Path directory) throws IOException {
    try (Stream<Path> entries = Files.walk(directory)) {
      for (Path entry : entries.sorted((a, b) -> b.compareTo(a)).toList()) {
        Files.delete(entry);
      }
    }
  }

  private static boolean verifyByGpg(Path signature, Path file) throws IOException {
    Process gpg =
        new ProcessBuilder("gpg", "--batch", "--verify", signature.toString(), file.toString())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      return gpg.waitFor() == 0;
    } catch (InterruptedException e) {
      gpg.destroy();
      throw new IOException("interrupted", e);
    }
  }

  /**
   * Prints the violations of a bundle; the exit status is 1 if there are any.
   *
   * @param arguments the bundle's file
   * @throws IOException if the bundle cannot be read
   */
  public static void main(String[] arguments) throws IOException {
    if (arguments.length != 1) {
      System.err.println("usage: CentralBundle BUNDLE.zip");
      System.exit(2);
    }
    List<String> violations = violations(Path.of(arguments[0]), CentralBundle::verifyByGpg);
    violations.forEach(System.err::println);
    System.exit(violations.isEmpty() ? 0 : 1);
  }
}

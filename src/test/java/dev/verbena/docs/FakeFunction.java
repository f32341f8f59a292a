package dev.verbena.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A C function that no test has called on a kernel, nor with the code of a vendor's provider.
 *
 * @param test a test on a fake or on software devices
 * @param source the manual page, or the file of rdma-core, that the test follows
 */
record FakeFunction(String name, String test, String source) {
  private static final Path LIST = Path.of("src/test/resources/fake.tsv");

  /** Reads the list, in the order of the names. */
  static List<FakeFunction> all() throws IOException {
    return Files.readAllLines(LIST).stream()
        .filter(line -> !line.startsWith("#"))
        .map(line -> line.split("\t"))
        .map(row -> new FakeFunction(row[0], row[1], row[2]))
        .toList();
  }
}

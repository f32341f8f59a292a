package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ForkedJvm;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The rules by which channels choose their transport. */
@Tag("host")
class RulesTest {
  @TempDir Path folder;

  private static Rule.Transport transport(Rules rules, String host, int port) {
    return rules.of(new InetSocketAddress(host, port)).transport();
  }

  @Test
  void firstMatchCounts() {
    Rules rules =
        Rules.of("tcp *:5432; rdma 10.0.0.0/8:9000-9999;rdma-only 10.1.2.3 ; tcp 10.0.0.0/8:*");
    assertEquals(Rule.Transport.TCP, transport(rules, "10.0.0.1", 5432));
    assertEquals(Rule.Transport.RDMA, transport(rules, "10.0.0.1", 9000));
    assertEquals(Rule.Transport.RDMA, transport(rules, "10.255.0.1", 9999));
    assertEquals(Rule.Transport.TCP, transport(rules, "10.0.0.1", 8999));
    assertEquals(Rule.Transport.TCP, transport(rules, "10.0.0.1", 10_000));
    assertEquals(Rule.Transport.RDMA_ONLY, transport(rules, "10.1.2.3", 0));
    assertEquals(Rule.Transport.BOTH, transport(rules, "11.0.0.1", 9000));
    assertEquals(Rule.Transport.BOTH, transport(rules, "fd00::1", 9000));
  }

  @Test
  void prefixesCountBits() {
    Rules rules = Rules.of("tcp 10.0.0.128/25;rdma [2001:db8::]/33:1;rdma-only 0.0.0.0/0");
    assertEquals(Rule.Transport.TCP, transport(rules, "10.0.0.255", 1));
    assertEquals(Rule.Transport.RDMA_ONLY, transport(rules, "10.0.0.127", 1));
    assertEquals(Rule.Transport.RDMA, transport(rules, "2001:db8:7fff::1", 1));
    assertEquals(Rule.Transport.BOTH, transport(rules, "2001:db8:8000::1", 1));
  }

  @Test
  void fileHasARuleInEachLine() throws Exception {
    Path file = folder.resolve("rules");
    Files.writeString(file, "# Databases\ntcp *:5432 # PostgreSQL\n\nrdma *\n");
    Rules rules = Rules.of("@" + file);
    assertEquals(Rule.Transport.TCP, transport(rules, "10.0.0.1", 5432));
    assertEquals(Rule.Transport.RDMA, transport(rules, "10.0.0.1", 1));
    assertThrows(UncheckedIOException.class, () -> Rules.of("@" + folder.resolve("none")));
  }

  @Test
  void withoutRulesTheDefaultCounts() {
    assertEquals(Rule.Transport.BOTH, transport(Rules.of(""), "10.0.0.1", 1));
    assertEquals("the default rule", Rules.of(" ;").of(new InetSocketAddress(1)).text());
  }

  @Test
  void channelsAreTcpWhereNoRulePermitsRdma() {
    for (String never : List.of("tcp *", "tcp 10.0.0.1; tcp *; rdma *", "tcp *:*")) {
      assertTrue(Rules.of(never).areTcpOnly(true), never);
    }
    for (String perhaps : List.of("", "tcp *:80", "both *", "tcp 10.0.0.1")) {
      assertFalse(Rules.of(perhaps).areTcpOnly(true), perhaps);
      assertTrue(Rules.of(perhaps).areTcpOnly(false), perhaps);
    }
    for (String wanted : List.of("rdma 10.0.0.1; tcp *", "rdma-only 10.0.0.1", "both *; rdma *")) {
      assertFalse(Rules.of(wanted).areTcpOnly(true), wanted);
      assertFalse(Rules.of(wanted).areTcpOnly(false), wanted + ": a listener would not be RDMA");
    }
  }

  @Test
  void wrongRulesOfThePropertyAreReportedEachTime() throws Exception {
    String output =
        new ForkedJvm()
            .withNativeAccess()
            .with(
                "-D" + Rules.PROPERTY + "=sdp *", "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED")
            .run(Bind.class)
            .succeeded();
    assertEquals(2, output.lines().filter(line -> line.contains("position 1")).count(), output);
  }

  static final class Bind {
    private Bind() {}

    public static void main(String[] arguments) throws Exception {
      for (int i = 0; i < 2; i++) {
        try (ServerSocketChannel listener =
            new HybridSelectorProvider().openServerSocketChannel()) {
          listener.bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0));
        } catch (IllegalArgumentException e) {
          System.out.println(e.getMessage());
        }
      }
    }
  }

  @Test
  void wrongRulesAreReported() {
    for (String wrong :
        List.of(
            "sdp *",
            "tcp",
            "tcp host.example",
            "tcp 10.0.0.0/33",
            "tcp 10.0.0.999",
            "tcp [fd00::]/129",
            "tcp fd00::",
            "tcp *:70000",
            "tcp *:2-1",
            "tcp *:x",
            "tcp * *",
            "tcp */8")) {
      var e = assertThrows(IllegalArgumentException.class, () -> Rules.of("rdma *;" + wrong));
      assertTrue(e.getMessage().contains('"' + wrong + '"'), e::getMessage);
      assertTrue(e.getMessage().contains("-Ddev.verbena.sockets.rules, position 2"), e::getMessage);
    }
  }
}

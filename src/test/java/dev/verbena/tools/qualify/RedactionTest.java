package dev.verbena.tools.qualify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is removed from reports. */
class RedactionTest {
  private final Redaction redaction = new Redaction(Map.of("gandalf", "HOST", "jo", "USER"));

  @ParameterizedTest
  @ValueSource(
      strings = {
        "192.168.0.17",
        "fe80::248a:7ff:fe03:1",
        "fe80:0000:0000:0000:248a:07ff:fe03:0001",
        "::ffff:10.0.0.1",
        "248a:0703:00b3:8f12",
        "24:8a:07:03:00:b3",
        "24-8a-07-03-00-b3",
        "248a070300b38f12",
        "rocex248a070300b3",
        "0000:65:00.0",
        "/home/someone/x.jar",
        "/opt/company/driver"
      })
  void addressesAndPathsAreFoundAndRemoved(String secret) {
    String text = "device at (" + secret + ") failed";
    assertEquals(1, Math.min(1, Redaction.leaks(text).size()), "found");
    String clean = redaction.text(text);
    assertEquals(List.of(), Redaction.leaks(clean), clean);
    assertTrue(!clean.contains(secret) && clean.endsWith(") failed"), clean);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "mlx5_0",
        "6.12.48+deb13-amd64",
        "25.0.3+9-LTS of Eclipse Adoptium",
        "AMD EPYC 9654 96-Core Processor",
        "ulimit -l unlimited; memlock in /etc/security/limits.conf",
        "in /dev/infiniband/uverbs0",
        "1230 messages/s, 5 of 7",
        "0xffffffffffffffff",
        "ibv_reg_mr: errno 22",
        "16.35.2000",
        "gandalfs jokes"
      })
  void otherTextStays(String text) {
    assertEquals(text, redaction.text(text));
    assertEquals(List.of(), Redaction.leaks(text));
  }

  @Test
  void namesAreRemoved() {
    assertEquals("HOST: of jo", redaction.text("gandalf: of jo"), "two letters are no name");
  }

  @Test
  void hashesAreEqualWithinAReportOnly() {
    assertEquals(redaction.text("10.0.0.1"), redaction.text("10.0.0.1"));
    assertNotEquals(redaction.text("10.0.0.1"), redaction.text("10.0.0.2"));
    assertNotEquals(redaction.text("10.0.0.1"), new Redaction(Map.of()).text("10.0.0.1"));
  }

  @Test
  void versionOfTheFirmwareStays() {
    Map<String, Object> tree = Map.of("fw_ver", "233.2.104.0", "ip", "233.2.104.0");
    assertEquals("233.2.104.0", ((Map<?, ?>) redaction.tree(tree)).get("fw_ver"));
    assertNotEquals("233.2.104.0", ((Map<?, ?>) redaction.tree(tree)).get("ip"));
  }
}

package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Providers;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.foreign.Platform;
import dev.verbena.verbs.Verbena.Unsupported.Reason;
import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class VerbenaTest {
  private static final Platform LINUX = new Platform("Linux", "amd64", 64, ByteOrder.LITTLE_ENDIAN);

  /** A provider that gets no further than its verbs. */
  private record Failing(Supplier<RuntimeException> failure) implements Provider {
    @Override
    public Verbs verbs() {
      throw failure.get();
    }

    @Override
    public Librdmacm rdmacm() {
      throw failure.get();
    }
  }

  @Test
  void isSupportedAgreesWithItsReason() {
    Optional<Verbena.Unsupported> reason = Verbena.unsupportedReason();
    assertEquals(reason.isEmpty(), Verbena.isSupported());
    reason.ifPresent(r -> assertTrue(r.explanation().length() > 20, r.explanation()));
  }

  @Test
  void versionIsThatOfThePomOrUnknownWhereMavenDidNotBuild() throws IOException {
    String pom = Files.readString(Path.of("pom.xml"));
    String version = pom.substring(pom.indexOf("<version>") + 9, pom.indexOf("</version>"));
    assertTrue(Set.of(version, "unknown").contains(Verbena.version()), Verbena.version());
  }

  @Test
  void namesTheOperatingSystem() {
    Verbena.Unsupported reason =
        reason(new Platform("Windows 11", "amd64", 64, ByteOrder.LITTLE_ENDIAN), Providers::system);
    assertEquals(Reason.OPERATING_SYSTEM, reason.reason());
    assertTrue(reason.explanation().contains("Windows 11"), reason.explanation());
  }

  @Test
  void namesTheProcessor() {
    Verbena.Unsupported reason =
        reason(new Platform("Linux", "s390x", 64, ByteOrder.BIG_ENDIAN), Providers::system);
    assertEquals(Reason.ARCHITECTURE, reason.reason());
    assertTrue(reason.explanation().contains("s390x"), reason.explanation());
  }

  @Test
  void unsupportedReasonNamesTheMissingRequirement() {
    Verbena.Unsupported denied =
        reason(LINUX, new Failing(() -> new IllegalCallerException("flag")));
    assertEquals(new Verbena.Unsupported(Reason.NATIVE_ACCESS, "flag"), denied);
    VerbsException notFound = new VerbsException("dlopen libibverbs.so.1", Errno.ENOENT, "install");
    Verbena.Unsupported missing = reason(LINUX, new Failing(() -> notFound));
    assertEquals(Reason.LIBRARY, missing.reason());
    assertTrue(missing.explanation().startsWith(notFound.getMessage()), missing.explanation());
  }

  @Test
  void softwareDevicesThatCannotBeCreatedAreReported() {
    for (RuntimeException failure :
        new RuntimeException[] {
          new VerbsException("bind", Errno.EADDRNOTAVAIL, "no such address"),
          new IllegalArgumentException("described wrongly"),
          new IllegalStateException("not installed")
        }) {
      Supplier<Provider> system =
          () -> {
            throw failure;
          };
      assertEquals(
          new Verbena.Unsupported(Reason.DEVICE, failure.getMessage()), reason(LINUX, system));
    }
    assertEquals(
        Reason.NATIVE_ACCESS,
        reason(
                LINUX,
                () -> {
                  throw new IllegalCallerException("flag");
                })
            .reason());
  }

  private static Verbena.Unsupported reason(Platform platform, Failing provider) {
    return reason(platform, () -> provider);
  }

  private static Verbena.Unsupported reason(Platform platform, Supplier<Provider> system) {
    return Verbena.unsupportedReason(platform, system).orElseThrow();
  }
}

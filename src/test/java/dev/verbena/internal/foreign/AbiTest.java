package dev.verbena.internal.foreign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_ex;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.ibv_wc;
import dev.verbena.raw.pthread_mutex_t;
import dev.verbena.raw.verbs_context;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AbiTest {
  @Test
  void rawLayoutsAreThoseOfX86() {
    assertSame(verbs_context.layout(), Abi.X86_64.layout(verbs_context.layout()));
    assertEquals(
        ibv_qp.events_completed$offset(), Abi.X86_64.offsetOf(ibv_qp.layout(), "events_completed"));
  }

  @Test
  void largerMutexMovesTheFollowingFields() {
    assertEquals(40, Abi.X86_64.sizeOf(pthread_mutex_t.layout()));
    assertEquals(48, Abi.AARCH64.sizeOf(pthread_mutex_t.layout()));
    assertEquals(
        ibv_qp.mutex$offset(),
        Abi.AARCH64.offsetOf(ibv_qp.layout(), "mutex"),
        "not the mutex itself");
    assertEquals(ibv_qp.cond$offset() + 8, Abi.AARCH64.offsetOf(ibv_qp.layout(), "cond"));
    assertEquals(ibv_qp.layout().byteSize() + 8, Abi.AARCH64.sizeOf(ibv_qp.layout()));
  }

  @Test
  void nestedStructWithMutexMovesTheOuterFields() {
    assertEquals(
        ibv_qp_ex.wr_start$offset() + 8, Abi.AARCH64.offsetOf(ibv_qp_ex.layout(), "wr_start"));
    assertEquals(
        verbs_context.context$offset() + ibv_context.abi_compat$offset() + 8,
        Abi.AARCH64.offsetOf(verbs_context.layout(), "context.abi_compat"));
  }

  @Test
  void structWithoutMutexIsUnchanged() {
    assertSame(ibv_wc.layout(), Abi.AARCH64.layout(ibv_wc.layout()));
  }

  @Test
  void fieldsAreNamedAsInC() {
    assertEquals(40, Abi.X86_64.offsetOf(ibv_send_wr.layout(), "wr.rdma.remote_addr"));
    assertEquals(
        ibv_wc.imm_data$offset(),
        Abi.X86_64.offsetOf(ibv_wc.layout(), "imm_data"),
        "in an anonymous union");
  }

  @ParameterizedTest
  @CsvSource({"nope", "wr.nope", "wr_id.nope", "''", "wr..rdma", "wr."})
  void unknownFieldIsNamed(String field) {
    var thrown =
        assertThrows(
            IllegalArgumentException.class, () -> Abi.X86_64.offsetOf(ibv_send_wr.layout(), field));
    assertEquals("ibv_send_wr has no field " + field, thrown.getMessage());
  }

  @ParameterizedTest
  @CsvSource({
    "Linux,      amd64,   true,  X86_64",
    "Linux,      aarch64, true,  AARCH64",
    "Linux,      aarch64, false, X86_64",
    "Mac OS X,   aarch64, true,  X86_64",
    "Windows 11, amd64,   false, X86_64"
  })
  void thePlatformDecides(String os, String arch, boolean glibc, Abi expected) {
    Platform platform = new Platform(os, arch, 64, ByteOrder.LITTLE_ENDIAN);
    assertSame(expected, Abi.of(platform, () -> glibc));
  }
}

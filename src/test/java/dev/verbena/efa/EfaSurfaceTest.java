package dev.verbena.efa;

import static dev.verbena.testing.DeviceKind.EFA;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.Libefa;
import dev.verbena.internal.calls.EfaCompletionCalls;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each function of efadv.h of rdma-core 65 is called, or the package says why it is not. */
@On(EFA)
class EfaSurfaceTest {
  private static final List<String> EXPORTED =
      List.of(
          "efadv_create_driver_qp",
          "efadv_create_qp_ex",
          "efadv_query_ah",
          "efadv_query_device",
          "efadv_cq_from_ibv_cq_ex",
          "efadv_create_cq",
          "efadv_query_mr",
          "efadv_query_qp_wqs",
          "efadv_query_cq",
          "efadv_get_max_sq_depth",
          "efadv_get_max_rq_depth",
          "efadv_qp_from_ibv_qp_ex",
          "efadv_create_comp_cntr");
  private static final List<String> INLINE =
      List.of("efadv_wc_read_sgid", "efadv_wc_is_unsolicited", "efadv_wr_set_processing_hints");

  @Test
  @Tag("host")
  void eachFunctionIsCalledOrExplained() throws IOException {
    Set<String> called =
        Stream.of(Libefa.class, EfaCompletionCalls.class)
            .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
            .map(Method::getName)
            .collect(Collectors.toSet());
    String page =
        Files.readString(Path.of("src/main/java/dev/verbena/efa/package-info.java"))
            .replaceAll("\\s*\\n \\* *", " ");
    String reasons = page.substring(page.indexOf("Functions of efadv.h without a member"));
    Stream.concat(EXPORTED.stream(), INLINE.stream())
        .forEach(
            name ->
                assertTrue(
                    called.contains(name) || reasons.contains("{@code " + name + "}"), name));
  }

  @DeviceTest
  void theLibraryExportsThem() {
    Rig.orSkip(
        () -> {
          try (var context = Rig.a().open()) {
            return EfaDevice.of(context);
          }
        });
    SymbolLookup libefa = SymbolLookup.libraryLookup("libefa.so.1", Arena.global());
    EXPORTED.forEach(name -> assertTrue(libefa.find(name).isPresent(), name));
  }
}

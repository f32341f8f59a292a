package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.cm.Transfers;
import dev.verbena.internal.calls.CompletionQueueCalls;
import dev.verbena.internal.calls.ExtendedCompletionQueueCalls;
import dev.verbena.internal.calls.ExtendedQueuePairCalls;
import dev.verbena.internal.calls.QueuePairCalls;
import dev.verbena.internal.calls.SharedReceiveQueueCalls;
import dev.verbena.raw.verbs_context;
import dev.verbena.testing.CFunction;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every C function of the headers has its method in the seam, of the same shape, or its method
 * above, whether it is exported or not.
 */
class ApiSurfaceTest {
  /** Where a function's methods are: on the provider, or on the object whose data path they are. */
  private static final List<Class<?>> SEAM =
      List.of(
          Verbs.class,
          Librdmacm.class,
          RdmaCma.class,
          QueuePairCalls.class,
          CompletionQueueCalls.class,
          SharedReceiveQueueCalls.class,
          ExtendedQueuePairCalls.class,
          ExtendedCompletionQueueCalls.class);

  /** The functions of this header are implemented in Java, above the seam. */
  private static final String RSOCKETS = "rdma/rsocket.h";

  /** C passes the compiler's knowledge of an argument. */
  private static final Set<String> OTHER_PARAMETERS =
      Set.of("__ibv_reg_mr", "__ibv_reg_mr_iova", "ibv_wr_send_tso", "ibv_wr_set_inline_data");

  private static final Class<?>[] LOCAL = {long.class, MemoryRegion.class, long.class, long.class};
  private static final Class<?>[] REMOTE = {
    long.class, MemoryRegion.class, long.class, long.class, long.class, int.class
  };
  private static final Class<?>[] DATAGRAM = {
    long.class, MemoryRegion.class, long.class, long.class, AddressHandle.class, int.class
  };
  private static final Class<?>[] WAIT = {Completions.class, Duration.class};

  /** The inline functions of rdma_verbs.h: Java has them above the seam, over its own requests. */
  private static final Map<String, Method> ABOVE_THE_SEAM =
      Map.ofEntries(
          above("rdma_seterrno", VerbsException.class, "errno"),
          above("rdma_reg_msgs", Transfers.class, "registerMessages", MemorySegment.class),
          above("rdma_reg_read", Transfers.class, "registerReadable", MemorySegment.class),
          above("rdma_reg_write", Transfers.class, "registerWritable", MemorySegment.class),
          above("rdma_dereg_mr", MemoryRegion.class, "close"),
          above("rdma_post_recvv", Transfers.class, "post", ReceiveList.class),
          above("rdma_post_sendv", Transfers.class, "post", SendList.class),
          above("rdma_post_readv", Transfers.class, "post", SendList.class),
          above("rdma_post_writev", Transfers.class, "post", SendList.class),
          above("rdma_post_recv", Transfers.class, "receive", LOCAL),
          above("rdma_post_send", Transfers.class, "send", LOCAL),
          above("rdma_post_read", Transfers.class, "read", REMOTE),
          above("rdma_post_write", Transfers.class, "write", REMOTE),
          above("rdma_post_ud_send", Transfers.class, "sendDatagram", DATAGRAM),
          above("rdma_get_send_comp", Transfers.class, "awaitSends", WAIT),
          above("rdma_get_recv_comp", Transfers.class, "awaitReceives", WAIT));

  private static Map.Entry<String, Method> above(
      String function, Class<?> type, String name, Class<?>... parameters) {
    try {
      return Map.entry(function, type.getMethod(name, parameters));
    } catch (NoSuchMethodException e) {
      throw new AssertionError(function, e);
    }
  }

  /** The rows that have a method in the seam. */
  static List<CFunction> functions() {
    return CFunction.all().stream()
        .filter(f -> !ABOVE_THE_SEAM.containsKey(f.name()))
        .filter(f -> !f.header().equals(RSOCKETS))
        .toList();
  }

  @Test
  void functionsWithoutSymbolAreInline() {
    List<String> inline =
        CFunction.all().stream().filter(f -> !f.exported()).map(CFunction::name).toList();
    assertTrue(inline.containsAll(ABOVE_THE_SEAM.keySet()));
  }

  /**
   * The symbol lists of jextract, which come from the headers, and the rows are the same. rsocket.h
   * is not among jextract's headers: it declares no struct of its own.
   */
  @Test
  void exportedRowsAreTheGeneratedFunctions() throws IOException {
    Set<String> generated = new TreeSet<>();
    for (String library : List.of("libibverbs", "librdmacm")) {
      Files.readAllLines(Path.of("jextract/symbols", library + ".txt")).stream()
          .map(line -> line.replace("--include-function ", ""))
          .forEach(generated::add);
    }
    Set<String> rows =
        CFunction.all().stream()
            .filter(CFunction::exported)
            .filter(f -> !f.header().equals(RSOCKETS))
            .map(CFunction::name)
            .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(generated, rows);
  }

  @ParameterizedTest
  @MethodSource("functions")
  void hasMethod(CFunction function) {
    Method method = method(function).orElse(null);
    assertNotNull(method, () -> "no method " + function.name() + " in the seam");
    if (!OTHER_PARAMETERS.contains(function.name())) {
      List<Class<?>> expected = function.parameterTypes();
      boolean onObject =
          method.getDeclaringClass().getSimpleName().endsWith("Calls")
              && !Modifier.isStatic(method.getModifiers());
      assertEquals(
          onObject ? expected.subList(1, expected.size()) : expected,
          List.of(method.getParameterTypes()),
          function.prototype());
    }
  }

  @ParameterizedTest
  @MethodSource("functions")
  void symbolHasTheReleaseOfItsFirstExport(CFunction function) {
    Symbol symbol = method(function).orElseThrow().getAnnotation(Symbol.class);
    assertEquals(function.exported(), symbol != null, "exported");
    if (symbol != null) {
      assertEquals(function.since(), symbol.since(), "since");
    }
  }

  @ParameterizedTest
  @MethodSource("functions")
  void returnTypeIsThatOfC(CFunction function) {
    Method method = method(function).orElseThrow();
    Symbol symbol = method.getAnnotation(Symbol.class);
    ContextOp op = method.getAnnotation(ContextOp.class);
    if (symbol != null || op != null) {
      ErrorConvention fails = symbol != null ? symbol.fails() : op.fails();
      boolean onlyStatus = method.getReturnType() == void.class && fails != ErrorConvention.NEVER;
      assertEquals(
          function.returnType(), onlyStatus ? int.class : method.getReturnType(), "result");
    }
  }

  @Test
  void everySymbolIsInTheApiSurface() {
    Set<String> known = CFunction.all().stream().map(CFunction::name).collect(Collectors.toSet());
    List<String> invented =
        Stream.of(Libibverbs.class, Librdmacm.class)
            .flatMap(c -> Arrays.stream(c.getDeclaredMethods()))
            .filter(m -> m.isAnnotationPresent(Symbol.class))
            .map(Method::getName)
            .filter(name -> !known.contains(name))
            .toList();
    assertTrue(invented.isEmpty(), invented::toString);
  }

  @Test
  void verbsContextGrowsAtItsFront() {
    // So a field that lies further in front can only have come later.
    List<Method> ops =
        Arrays.stream(Verbs.class.getDeclaredMethods())
            .filter(m -> m.isAnnotationPresent(ContextOp.class))
            .filter(m -> !m.getAnnotation(ContextOp.class).field().startsWith("ops."))
            .sorted(Comparator.comparingLong(ApiSurfaceTest::offset))
            .toList();
    assertFalse(ops.isEmpty());
    for (int i = 1; i < ops.size(); i++) {
      int newer = ops.get(i - 1).getAnnotation(ContextOp.class).since();
      int older = ops.get(i).getAnnotation(ContextOp.class).since();
      assertTrue(newer >= older, ops.get(i - 1) + " before " + ops.get(i));
    }
  }

  private static long offset(Method method) {
    String field = ContextOps.field(method.getAnnotation(ContextOp.class), method.getName());
    return verbs_context.layout().byteOffset(PathElement.groupElement(field));
  }

  private static Optional<Method> method(CFunction function) {
    return SEAM.stream()
        .flatMap(c -> Arrays.stream(c.getMethods()))
        .filter(m -> m.getName().equals(function.name()))
        .findFirst();
  }
}

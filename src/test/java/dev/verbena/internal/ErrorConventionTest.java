package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_context_ops;
import dev.verbena.raw.ibv_flow;
import dev.verbena.raw.rdma_h;
import dev.verbena.raw.verbs_context;
import dev.verbena.testing.CFunction;
import dev.verbena.testing.JavaFunctions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each row of the seam's tables, called on C functions that fail, succeed, or are not there. */
class ErrorConventionTest {
  private static final int LEFT_OVER = Errno.EBUSY;
  private static final Set<String> PUBLIC =
      CFunction.all().stream()
          .map(CFunction::name)
          .filter(name -> !name.startsWith("_"))
          .collect(Collectors.toSet());

  /** A result that means failure, what lies in errno then, and the errno to be reported. */
  private record Failure(long result, int errno, int reported) {}

  private final JavaFunctions upcalls = new JavaFunctions();

  @AfterEach
  void close() {
    upcalls.close();
  }

  /** A user looks for a name of the manual, not for that of a pointer, or of what a macro calls. */
  private static void assertNames(Method method, String function) {
    assertTrue(PUBLIC.contains(function), function);
    assertTrue(("ibv_" + method.getName()).endsWith(function), function);
  }

  private static Stream<Method> methods(Class<?>... interfaces) {
    return Arrays.stream(interfaces).flatMap(i -> Arrays.stream(i.getDeclaredMethods()));
  }

  static List<Method> symbols() {
    return methods(Libibverbs.class, Librdmacm.class)
        .filter(m -> m.isAnnotationPresent(Symbol.class))
        .toList();
  }

  static List<Method> contextOps() {
    return methods(Verbs.class).filter(m -> m.isAnnotationPresent(ContextOp.class)).toList();
  }

  private static List<Failure> failures(ErrorConvention fails) {
    return switch (fails) {
      case NEVER -> List.of();
      case NULL ->
          List.of(
              new Failure(0, Errno.EACCES, Errno.EACCES),
              new Failure(0, 0, Errno.EIO)); // no reason given
      case ERRNO ->
          List.of(
              new Failure(Errno.EINVAL, LEFT_OVER, Errno.EINVAL),
              new Failure(-Errno.EINVAL, LEFT_OVER, Errno.EINVAL),
              new Failure(-1, Errno.EACCES, Errno.EACCES));
      case MINUS_ONE, LONG_MINUS_ONE -> List.of(new Failure(-1, Errno.EACCES, Errno.EACCES));
      case NEGATIVE ->
          List.of(
              new Failure(-1, Errno.EACCES, Errno.EACCES),
              new Failure(-4, Errno.ENOMEM, Errno.ENOMEM));
      case NEGATIVE_ERRNO -> List.of(new Failure(-Errno.EINVAL, LEFT_OVER, Errno.EINVAL));
      case ADDRINFO ->
          List.of(
              new Failure(-1, Errno.ENODEV, Errno.ENODEV),
              new Failure(-2, LEFT_OVER, Errno.ENOENT),
              new Failure(-11, Errno.EACCES, Errno.EACCES),
              new Failure(Errno.ENOMEM, LEFT_OVER, Errno.ENOMEM));
    };
  }

  /** A result that is no failure, whatever lies in errno. */
  private static long success(ErrorConvention fails) {
    return switch (fails) {
      case NULL, LONG_MINUS_ONE -> 0x7fff_ffff_ffffL;
      case NEVER -> -1;
      case ERRNO, ADDRINFO -> 0;
      case MINUS_ONE, NEGATIVE, NEGATIVE_ERRNO -> 5;
    };
  }

  @ParameterizedTest
  @MethodSource("symbols")
  void symbolFailsByItsConvention(Method method) throws Throwable {
    ErrorConvention fails = method.getAnnotation(Symbol.class).fails();
    var function = new RecordingFunction(upcalls, method, fails != ErrorConvention.NEVER);
    Map<String, MemorySegment> exports = Map.of(method.getName(), function.pointer());
    Library library = Library.of("test", name -> Optional.ofNullable(exports.get(name)));
    check(function, fails, method, Binding.toLibrary(bound(method), library), 0);
  }

  /** The interface that is bound: Verbs extends Libibverbs. */
  private static Class<?> bound(Method method) {
    Class<?> functions = method.getDeclaringClass();
    return functions == Libibverbs.class ? Verbs.class : functions;
  }

  @ParameterizedTest
  @MethodSource("contextOps")
  void contextOpFailsByItsConvention(Method method) throws Throwable {
    ContextOp op = method.getAnnotation(ContextOp.class);
    var function = new RecordingFunction(upcalls, method, op.fails() != ErrorConvention.NEVER);
    try (Arena arena = Arena.ofConfined()) {
      long context = context(arena);
      putPointer(context, op, method, function.pointer().address());
      long first = firstArgument(arena, op, context);
      check(function, op.fails(), method, verbs("test"), first);
    }
  }

  private static void check(
      RecordingFunction function, ErrorConvention fails, Method method, Object caller, long first)
      throws Throwable {
    Object[] arguments = RecordingFunction.distinctArguments(method, first);
    for (Failure failure : failures(fails)) {
      function.returns(failure.result, failure.errno);
      RuntimeException thrown =
          assertThrows(
              RuntimeException.class, () -> call(caller, method, arguments), failure::toString);
      VerbsException e =
          assertInstanceOf(VerbsException.class, ReregistrationFailure.unwrap(thrown));
      assertNames(method, e.function());
      assertEquals(failure.reported, e.errno(), failure.toString());
    }
    function.returns(success(fails), LEFT_OVER);
    Object result = call(caller, method, arguments);
    assertArrayEquals(arguments, function.arguments());
    if (method.getReturnType() == long.class) {
      assertEquals(success(fails), result);
    } else if (method.getReturnType() == int.class) {
      assertEquals((int) success(fails), result);
    }
  }

  @ParameterizedTest
  @MethodSource("symbols")
  void missingSymbolIsUnsupported(Method method) {
    int since = method.getAnnotation(Symbol.class).since();
    Object caller =
        Binding.toLibrary(
            method.getDeclaringClass(), Library.of("libold.so", name -> Optional.empty()));
    VerbsException e =
        assertThrows(
            VerbsException.class,
            () -> call(caller, method, RecordingFunction.distinctArguments(method, 0)));
    assertNames(method, e.function());
    assertTrue(e.isUnsupported());
    assertTrue(e.getMessage().contains("libold.so"), e.getMessage());
    assertTrue(
        e.getMessage()
            .contains(since == 0 ? "is this libold.so?" : "needs rdma-core " + since + " or newer"),
        e.getMessage());
  }

  @ParameterizedTest
  @MethodSource("contextOps")
  void missingContextOpIsUnsupported(Method method) {
    ContextOp op = method.getAnnotation(ContextOp.class);
    try (Arena arena = Arena.ofConfined()) {
      long context = context(arena);
      long first = firstArgument(arena, op, context);
      unsupported(method, first, "the device's provider does not implement it");
      if (!op.field().startsWith("ops.")) {
        String needed =
            op.since() == 0 ? "needs rdma-core, found" : "needs rdma-core " + op.since() + " or";
        putPointer(context, op, method, 0x1000);
        shrink(context, ContextOps.field(op, method.getName()));
        unsupported(method, first, needed);
        Memory.putLong(context + offset("abi_compat"), 0x1000);
        unsupported(method, first, needed);
      }
    }
  }

  private static void unsupported(Method method, long first, String message) {
    VerbsException e =
        assertThrows(
            VerbsException.class,
            () ->
                call(
                    verbs("libold.so"),
                    method,
                    RecordingFunction.distinctArguments(method, first)));
    assertNames(method, e.function());
    assertTrue(e.isUnsupported());
    assertTrue(e.getMessage().contains(message), e.getMessage());
  }

  static List<Method> withPointers() {
    return methods(Libibverbs.class, Librdmacm.class, Verbs.class)
        .filter(m -> !Modifier.isStatic(m.getModifiers()))
        .filter(m -> m.getParameterCount() > 0 && m.getParameterTypes()[0] == long.class)
        .toList();
  }

  @ParameterizedTest
  @MethodSource("withPointers")
  void nullAsFirstArgumentThrows(Method method) {
    Object[] arguments = RecordingFunction.distinctArguments(method, 1);
    arguments[0] = 0L;
    Class<?> functions =
        method.getDeclaringClass() == Librdmacm.class ? Librdmacm.class : Verbs.class;
    Object caller = Binding.toLibrary(functions, Library.of("libold.so", name -> Optional.empty()));
    boolean nullable =
        method.isAnnotationPresent(Symbol.class) && method.getAnnotation(Symbol.class).nullable();
    RuntimeException e =
        assertThrows(RuntimeException.class, () -> call(caller, method, arguments));
    assertEquals(nullable ? VerbsException.class : NullPointerException.class, e.getClass());
    assertNames(method, e.getMessage().replaceFirst("\\W.*", ""));
  }

  @Test
  void theLimitOfDescriptorsIsNamed() {
    var failure =
        (VerbsException) ErrorConvention.NULL.failure("ibv_create_comp_channel", 0, Errno.EMFILE);
    assertEquals(Errno.EMFILE, failure.errno());
    assertTrue(failure.getMessage().contains("(EMFILE, 24)"), failure::getMessage);
    assertTrue(failure.getMessage().contains("ulimit -n"), failure::getMessage);
  }

  static List<Method> withNumbers() {
    return methods(Libibverbs.class, Librdmacm.class)
        .filter(m -> m.getParameterCount() > 0 && m.getParameterTypes()[0] != long.class)
        .toList();
  }

  @ParameterizedTest
  @MethodSource("withNumbers")
  void zeroAsFirstNumberIsNotNull(Method method) {
    Object[] arguments = {0};
    Object caller =
        Binding.toLibrary(
            method.getDeclaringClass(), Library.of("libold.so", name -> Optional.empty()));
    assertThrows(VerbsException.class, () -> call(caller, method, arguments));
  }

  /** The rows that are no rule, as rdma-core's sources and manual pages have them. */
  @Test
  void exceptionsToTheRulesAreListed() {
    assertEquals(
        Set.of(
            "ibv_query_gid",
            "ibv_query_pkey",
            "ibv_get_pkey_index",
            "ibv_get_cq_event",
            "ibv_get_async_event",
            "ibv_init_ah_from_wc",
            "ibv_dm_export_dmabuf_fd",
            "ibv_export_buf_dmabuf_fd"),
        named(Libibverbs.class, ErrorConvention.MINUS_ONE));
    assertEquals(Set.of("ibv_rereg_mr"), named(Libibverbs.class, ErrorConvention.NEGATIVE));
    assertEquals(
        Set.of("_ibv_query_gid_table"), named(Libibverbs.class, ErrorConvention.NEGATIVE_ERRNO));
    assertEquals(
        Set.of("rdma_getaddrinfo", "rdma_resolve_addrinfo"),
        named(Librdmacm.class, ErrorConvention.ADDRINFO));
    assertEquals(Set.of(), named(Librdmacm.class, ErrorConvention.ERRNO));
    // Functions with a result that cannot fail: texts, numbers, and NULL as an answer.
    assertEquals(
        Set.of(
            "ibv_get_device_guid",
            "ibv_get_device_index",
            "ibv_is_fork_initialized",
            "ibv_qp_to_qp_ex",
            "ibv_query_qp_data_in_order",
            "ibv_node_type_str",
            "ibv_port_state_str",
            "ibv_event_type_str",
            "ibv_wc_status_str",
            "ibv_rate_to_mult",
            "mult_to_ibv_rate",
            "ibv_rate_to_mbps",
            "mbps_to_ibv_rate",
            "rdma_ack_cm_event",
            "rdma_event_str",
            "rdma_get_src_port",
            "rdma_get_dst_port"),
        symbols().stream()
            .filter(m -> m.getReturnType() != void.class)
            .filter(m -> m.getAnnotation(Symbol.class).fails() == ErrorConvention.NEVER)
            .map(Method::getName)
            .collect(Collectors.toSet()));
  }

  @Test
  void unknownHostIsDescribed() throws Throwable {
    Method method =
        Librdmacm.class.getMethod(
            "rdma_getaddrinfo", long.class, long.class, long.class, long.class);
    var function = new RecordingFunction(upcalls, method, true).returns(-2, 0);
    Librdmacm rdmacm =
        Binding.toLibrary(
            Librdmacm.class, Library.of("test", name -> Optional.of(function.pointer())));
    VerbsException e =
        assertThrows(VerbsException.class, () -> rdmacm.rdma_getaddrinfo(1, 2, 3, 4));
    assertTrue(e.getMessage().contains("Name or service not known (EAI_NONAME)"), e.getMessage());
  }

  @Test
  void codeOfNameResolutionInErrnoIsDescribed() throws Throwable {
    VerbsException unknown = failureOfResolution(-2);
    assertTrue(unknown.getMessage().contains("(EAI_NONAME)"), unknown.getMessage());
    assertEquals(Errno.ENOENT, unknown.errno());
    assertEquals(false, unknown.isTransient());
    VerbsException again = failureOfResolution(-3);
    assertTrue(again.getMessage().contains("(EAI_AGAIN)"), again.getMessage());
    assertEquals(true, again.isTransient());
    assertEquals(Errno.EBUSY, failureOfResolution(Errno.EBUSY).errno());
  }

  /** rdma_resolve_addrinfo of rdma-core 60: ERR(ret), where ret is what getaddrinfo returned. */
  private VerbsException failureOfResolution(int errno) throws Throwable {
    Method method =
        Librdmacm.class.getMethod(
            "rdma_resolve_addrinfo", long.class, long.class, long.class, long.class);
    var function = new RecordingFunction(upcalls, method, true).returns(-1, errno);
    Librdmacm rdmacm =
        Binding.toLibrary(
            Librdmacm.class, Library.of("test", name -> Optional.of(function.pointer())));
    return assertThrows(VerbsException.class, () -> rdmacm.rdma_resolve_addrinfo(1, 2, 3, 4));
  }

  private static Set<String> named(Class<?> library, ErrorConvention fails) {
    return methods(library)
        .filter(m -> m.getAnnotation(Symbol.class).fails() == fails)
        .map(Method::getName)
        .collect(Collectors.toSet());
  }

  private static Object call(Object caller, Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(caller, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private static Verbs verbs(String library) {
    return Binding.toLibrary(Verbs.class, Library.of(library, name -> Optional.empty()));
  }

  /** An extended context of full size whose pointers are all NULL. */
  private static long context(Arena arena) {
    MemorySegment outer = arena.allocate(Abi.current().layout(verbs_context.layout()));
    long context = outer.address() + verbs_context.context$offset();
    verbs_context.sz(outer, outer.byteSize());
    Memory.putLong(context + offset("abi_compat"), rdma_h.__VERBS_ABI_IS_EXTENDED().address());
    return context;
  }

  private static long offset(String contextField) {
    return Abi.current().offsetOf(ibv_context.layout(), contextField);
  }

  /** The size that a library had which did not know the field yet. */
  private static void shrink(long context, String field) {
    long outer = context - verbs_context.context$offset();
    long at = verbs_context.layout().byteOffset(PathElement.groupElement(field));
    Memory.putLong(
        outer + verbs_context.sz$offset(),
        Abi.current().sizeOf(verbs_context.layout()) - at - Long.BYTES);
  }

  private static void putPointer(long context, ContextOp op, Method method, long pointer) {
    long at;
    if (op.field().startsWith("ops.")) {
      at =
          context
              + ibv_context.ops$offset()
              + ibv_context_ops
                  .layout()
                  .byteOffset(PathElement.groupElement(op.field().substring(4)));
    } else {
      String field = ContextOps.field(op, method.getName());
      at =
          context
              - verbs_context.context$offset()
              + verbs_context.layout().byteOffset(PathElement.groupElement(field));
    }
    Memory.putLong(at, pointer);
  }

  private static long firstArgument(Arena arena, ContextOp op, long context) {
    if (op.of() == ContextOp.Of.CONTEXT) {
      return context;
    }
    MemorySegment object = arena.allocate(64, 8);
    long at = op.of() == ContextOp.Of.FLOW ? ibv_flow.context$offset() : 0;
    object.set(ValueLayout.JAVA_LONG, at, context);
    return object.address();
  }
}

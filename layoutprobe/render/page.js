/* Built from page/ by `npm run build`: do not edit. */
"use strict";(()=>{var M=["A","B","C"],B="layoutprobe.kernel/1";function G(t){let e=atob(t),n=new Uint8Array(e.length);for(let r=0;r<e.length;r++)n[r]=e.charCodeAt(r);return n}function V(t){let e=G(t),n=new DataView(e.buffer),r=new Float32Array(e.length/4);for(let o=0;o<r.length;o++)r[o]=n.getFloat32(4*o,!0);return r}function z(t,e){let n=G(t);return Uint8Array.from({length:e},(r,o)=>(n[o>>3]??0)>>(o&7)&1)}function s(t,e={},...n){return we(document.createElement(t),e,n)}function we(t,e,n){for(let[r,o]of Object.entries(e))o===void 0||o===!1||(typeof o=="function"?t.addEventListener(r.slice(2),o):t.setAttribute(r,o===!0?"":String(o)));return t.append(...n.filter(r=>!!r)),t}function T(t,e,n,r=""){return s("button",{type:"button","aria-pressed":String(e),title:r||void 0,onclick:n},t)}function S(t,e,n){let r=s("div",{class:"scroll"}),o=s("details",{class:"behind"},s("summary",{},t),r);return o.addEventListener("toggle",()=>{if(!o.open||r.childElementCount)return;let a=s("tr",{},...e.map(i=>s("th",{scope:"col"},i))),l=[...n()].map(([i,...u])=>s("tr",{},s("th",{scope:"row"},i??""),...u.map(d=>s("td",{},d))));r.append(s("table",{},s("thead",{},a),s("tbody",{},...l)))}),o}function $(t){let e=getComputedStyle(t),n=new Map;return r=>{let o=n.get(r)??e.getPropertyValue(`--${r}`).trim();return n.set(r,o),o}}function U(t){let{findings:e}=t.model.data;return s("div",{class:"findings"},...e.map((n,r)=>{let{file:o,line:a}=n.place,l=ye(t,n),i=M.find(d=>d===n.place.matrix),u=n.lines.flatMap(([d,c])=>[s("dt",{},d),s("dd",{},s("code",{},c))]);return s("div",{class:"card finding"},s("span",{class:"place"},o===void 0?"":`${o}:${a}`),s("h3",{},`Finding ${r+1} of ${e.length}: ${n.rule}`),s("p",{},n.what),s("p",{class:"go"},l&&s("button",{type:"button",onclick:()=>t.goto(l,{slot:null,...i&&{matrix:i}})},"show its slots"),o!==void 0&&a!==void 0&&s("button",{type:"button",onclick:()=>t.set({line:{file:o,line:a}})},"show its line")),s("details",{class:"behind"},s("summary",{},"in full"),s("dl",{},...u)))}))}function ye(t,e){let n=M.find(d=>d===e.place.matrix),r=new Set([e.place,...e.related.map(({place:d})=>d)].map(({pc:d})=>d)),o=[...t.model.every].flat().filter(d=>(n===void 0?d.wrong:d.operands[n]?.anyWrong)??!1),a=o.filter(d=>r.has(t.model.site(d.site)?.place.pc)),{wave:l,workgroup:i}=e.place,u=t.model.groupNumber(i);return a.find(d=>d.wave===l&&d.group===u)??a[0]??o[0]}var Y=new WeakMap;function ve(t){let e=Y.get(t);if(e!==void 0)return e;let n=new Map;return t.row.forEach((r,o)=>{let a=`${r},${t.col[o]}`;r>=0&&!n.has(a)&&n.set(a,o)}),Y.set(t,n),n}var P=class{constructor(e,n){this.moments=e;this.at=n}moments;at;value(e){return this.moments.rows[e][this.at]??0}layout(e){let n=this.moments.layouts[this.value(e)];if(n===void 0)throw new Error(`layout ${this.value(e)} is missing`);return n}get matrix(){return M[this.value("matrix")]??"A"}get site(){return this.value("site")}get iteration(){return this.value("iteration")}get group(){return this.value("group")}get wave(){return this.value("wave")}get product(){return this.value("product")}get axes(){return this.layout("held").axes}get bits(){return this.layout("held").bits}get slots(){return this.layout("held").row.length}element(e,n){let r=this.layout(e),o=r.row[n]??-1;if(o<0)return null;let a=[this.value(`${e}_row`),this.value(`${e}_col`)];return{row:a[0]+o,col:a[1]+(r.col[n]??0)}}held(e){return this.element("held",e)}needed(e){return this.element("needed",e)}wrong(e){return this.moments.masks[this.value("wrong")]?.charAt(e)==="1"}live(e){return this.moments.masks[this.value("live")]?.charAt(e)==="1"}get anyWrong(){return this.moments.masks[this.value("wrong")]?.includes("1")??!1}holdsTooMuch(){for(let e=0;this.anyWrong&&e<this.slots;e++)if(this.wrong(e)&&this.needed(e)===null&&this.held(e)!==null)return!0;return!1}get countWrong(){return[...this.moments.masks[this.value("wrong")]??""].filter(e=>e==="1").length}slotHolding(e){let[n,r]=[e.row-this.value("held_row"),e.col-this.value("held_col")];return n<0||r<0?-1:ve(this.layout("held")).get(`${n},${r}`)??-1}slot(e){let[,n,r]=this.axes,o=Math.floor(e/r);return{matrix:this.matrix,lane:Math.floor(o/n),vgpr:o%n,field:e%r}}flat(e){let[,n,r]=this.axes;return(e.lane*n+e.vgpr)*r+e.field}},O=(t,e)=>`${t}/${e}`,R=class{constructor(e){this.data=e;let{rows:n,groups:r}=e.moments,o=new Map;for(let a=0;a<n.group.length;a++){let l=`${n.group[a]}/${n.wave[a]}/${n.turn[a]}`,i=new P(e.moments,a),u=o.get(l)??{operands:{},turn:n.turn[a]};u.operands[i.matrix]=i,o.set(l,u)}for(let{operands:a,turn:l}of o.values()){let i=a.A??a.B??a.C;if(i===void 0)continue;let{group:u,wave:d,site:c,iteration:p}=i,h=M.some(f=>a[f]?.anyWrong),b={group:u,wave:d,site:c,iteration:p,turn:l,operands:a,wrong:h},w=this.byWave.get(O(u,d));w===void 0?this.byWave.set(O(u,d),[b]):w.push(b)}for(let a of this.byWave.values())a.sort((l,i)=>l.turn-i.turn);this.waves=r.map((a,l)=>[...this.byWave.values()].flatMap(u=>u[0]?.group===l?[u[0].wave]:[]).sort((u,d)=>u-d));for(let{site:a,matrix:l,kind:i,first:u,count:d}of e.moments.registers)this.registers.set(`${a}/${l}`,{kind:i,first:u,count:d})}data;byWave=new Map;registers=new Map;waves;steps(e,n){return this.byWave.get(O(e,n))??[]}get every(){return this.byWave.values()}site(e){return this.data.sites[e]}register(e,n,r,o){let a=this.registers.get(`${e}/${n}`),l=a?.kind==="AccVGPR"?"a":"v",i=(a?.first??0)+r*Math.max(1,o/32);return o>32?`${l}[${i}:${i+1}]`:`${l}${i}`}groupName(e){return`(${(this.data.moments.groups[e]??[]).join(", ")})`}groupNumber(e){return this.data.moments.groups.findIndex(n=>e?.every((r,o)=>r===n[o])??!1)}makers(e,n){let r=new Map;for(let o of this.byWave.values())for(let a of o){let l=a.operands.C;if(l===void 0||l.product!==n)continue;let i=l.slotHolding(e);if(i<0)continue;let u=l.slot(i),d=this.registers.get(`${a.site}/C`),c=`${O(a.group,a.wave)}/${d?.kind}${d?.first}/${i}`,p=r.get(c)??{steps:[],slot:u,belongs:l.needed(i)};p.steps.push(a),r.set(c,p)}return[...r.values()]}beyond(e){return e.steps.filter(({operands:{A:n,B:r}})=>[n,r].every(o=>o?.holdsTooMuch()))}contributions(e,n){let r=e.belongs??n;return e.steps.flatMap(o=>{let{A:a,B:l}=o.operands;if(a===void 0||l===void 0)return[];let i=new Map(q(l,u=>u.col===r.col).map(([u,d])=>[d.row,u]));return q(a,u=>u.row===r.row).flatMap(([u,d])=>{let c=i.get(d.col);return c===void 0?[]:{step:o,k:d.col,a:a.slot(u),b:l.slot(c),heldA:a.held(u),heldB:l.held(c),right:!a.wrong(u)&&!l.wrong(c)}})})}};function q(t,e){let n=new Map;for(let r=0;r<t.slots;r++){let o=t.needed(r);if(o===null||!t.live(r)||!e(o))continue;let a=t.matrix==="A"?o.col:o.row;n.has(a)||n.set(a,[r,o])}return[...n.values()].sort((r,o)=>r[0]-o[0])}function F(t,e,n){return e===1?"":e===2?t===0?"lo":"hi":`${(t+1)*n-1}:${t*n}`}function x(t,e){return e===null?"no element":`${t}[${e.row}][${e.col}]`}var xe=[["both","held beside needed"],["held","held"],["needed","needed"]];function Z(t){let e=s("div",{class:"choices",role:"group","aria-label":"matrix"}),n=s("div",{class:"choices",role:"group","aria-label":"what is shown"}),r=s("div",{class:"scroll fragment"}),o=s("h2",{}),a=s("p",{class:"says","aria-live":"polite"}),l=s("p",{class:"legend"});return t.watch(()=>{let{state:i}=t;e.replaceChildren(...M.map(d=>{let c=T(d,d===i.matrix,()=>t.set({matrix:d,slot:null}));return c.classList.toggle("bad",t.step?.operands[d]?.anyWrong??!1),c})),n.replaceChildren(...xe.map(([d,c])=>T(c,d===i.shown,()=>t.set({shown:d}))));let u=t.step?.operands[i.matrix];if(o.textContent=`Operand ${i.matrix}`,u===void 0){r.replaceChildren(s("p",{},t.model.site(t.step?.site??-1)?.lost||"not followed"));return}o.textContent+=` in ${ke(t,u)}`,Se(t,u,r),a.replaceChildren(...Ae(t,u,i.slot)),l.replaceChildren(...Ce(u,i.matrix))}),s("section",{class:"operand panel","aria-label":"operand"},s("header",{},o,e,n),a,r,l)}function ke(t,e){let n=e.axes[1]-1,r=o=>t.model.register(e.site,e.matrix,o,e.bits);return n>0?`${r(0)} to ${r(n)}`:r(0)}function Me(t){let e=new Set;for(let n=0;n<t.slots;n++)for(let r of[t.held(n),t.needed(n)])r!==null&&e.add(J(t.matrix,r));return new Map([...e].sort((n,r)=>n-r).map((n,r)=>[n,r]))}var J=(t,e)=>t==="B"?e.col:e.row;function Se(t,e,n){let{state:r}=t,[o,a,l]=e.axes,i=Me(e),u=r.slot?.matrix===e.matrix?e.flat(r.slot):-1,d=u<0?null:e.held(u),c=s("table",{role:"grid","aria-label":`operand ${e.matrix}, lanes by registers`,onkeydown:b=>Le(t,e,b),onclick:b=>{let w=b.target.closest("td");w?.dataset.slot!==void 0&&t.set({slot:e.slot(Number(w.dataset.slot))})}});c.append($e(t,e));let p=s("tbody");for(let b=0;b<o;b++){let w=s("tr",{},s("th",{scope:"row"},String(b)));for(let f=0;f<a*l;f++){let m=b*a*l+f,g=Ee(e,m,r.shown,i);g.tabIndex=m===Math.max(u,0)?0:-1,l>1&&f%l===0&&g.classList.add("first");let v=e.held(m);d!==null&&v?.row===d.row&&v.col===d.col&&g.classList.add("same"),m===u&&g.classList.add("chosen"),g.setAttribute("aria-selected",String(m===u)),w.append(g)}p.append(w)}c.append(p);let h=n.contains(document.activeElement);n.replaceChildren(c),h&&c.querySelector("td[tabindex='0']")?.focus({preventScroll:!1})}function $e(t,e){let[,n,r]=e.axes,o=Array.from({length:n},(i,u)=>s("th",{scope:"colgroup",colspan:r},t.model.register(e.site,e.matrix,u,e.bits))),a=s("tr",{},s("th",{scope:"col",rowspan:r>1?2:1},"lane"),...o);if(r===1)return s("thead",{},a);let l=o.flatMap(()=>Array.from({length:r},(i,u)=>s("th",{scope:"col"},F(u,r,e.bits))));return s("thead",{},a,s("tr",{},...l))}function Ee(t,e,n,r){let o=t.held(e),a=t.needed(e),l=t.wrong(e),i=n==="needed"?a:o,u=s("td",{"data-slot":e},X(i));if(i!==null){let c=r.get(J(t.matrix,i))??0;u.style.setProperty("--hue",`${c/Math.max(r.size,1)}turn`),u.classList.add(c%2===0?"even":"odd")}l&&n!=="needed"&&(u.classList.add("wrong"),n==="both"&&u.append(s("small",{},X(a)))),t.live(e)||u.classList.add("dead");let d=[`lane ${t.slot(e).lane}`,x(t.matrix,o)];return l&&d.push(`wrong, needs ${x(t.matrix,a)}`),t.live(e)||d.push("no output reads it"),u.title=d.join(", "),u.setAttribute("aria-label",d.slice(1).join(", ")),u}var X=t=>t===null?"\xB7":`${t.row},${t.col}`;function Le(t,e,n){let[r,o,a]=e.axes,l=o*a,i={ArrowLeft:-1,ArrowRight:1,ArrowUp:-l,ArrowDown:l}[n.key],u=n.target.closest("td");if(i===void 0||u?.dataset.slot===void 0)return;n.preventDefault();let d=Number(u.dataset.slot)+i;d>=0&&d<r*l&&t.set({slot:e.slot(d)})}function Ae(t,e,n){if(n===null||n.matrix!==e.matrix)return[e.anyWrong?s("span",{class:"bad-text"},`\u2717 ${e.countWrong} of ${e.slots} slots are wrong`):s("span",{class:"good-text"},"\u2713 every slot holds what is needed"),". Choose a slot to see where else its element is."];let r=e.flat(n),{matrix:o}=e,a=F(n.field,e.axes[2],e.bits),l=t.model.register(e.site,o,n.vgpr,e.bits)+(a&&`.${a}`),i=e.held(r),u=o==="C"?"is stored to":"holds",d=[s("b",{},`lane ${n.lane}, ${l}`),` ${u} `];d.push(s("code",{},x(o,i))),e.wrong(r)&&d.push(", needs ",s("code",{class:"good-text"},x(o,e.needed(r)))),e.live(r)||d.push(" (no output reads it)");let c=Te(e,r);c.length>0&&d.push(`; also in ${c.join(", ")}`);let p=o==="C"?e.needed(r)??i:null;if(p!==null){let h=()=>t.set({element:{...p,product:e.product}});d.push(" ",s("button",{type:"button",onclick:h},"its sum over k"))}return d}function Te(t,e){let n=t.held(e);if(n===null)return[];let r=[];for(let o=0;o<t.slots&&r.length<8;o++){let a=t.held(o);o!==e&&a?.row===n.row&&a.col===n.col&&r.push(`lane ${t.slot(o).lane}`)}return r}function Ce(t,e){let r=[`One colour for each ${{A:"row of A",B:"column of B",C:"row of C"}[e]}; 3,5 is ${e}[3][5]. `];return t.anyWrong&&r.push(s("span",{class:"key wrong"},"3,5")," wrong, and below what is needed. "),r.push(s("span",{class:"key dead"},"3,5")," a copy that no output reads."),r}function Q(t){let{model:e}=t,n=s("select",{id:"group",onchange:()=>{let p=Number(n.value);t.set({group:p,wave:e.waves[p]?.[0]??0,slot:null})}});n.append(...e.data.moments.groups.map((p,h)=>s("option",{value:h},e.groupName(h))));let r=s("div",{class:"choices",role:"group","aria-label":"wave"}),o=s("input",{type:"range",id:"step",min:0,step:1,oninput:()=>t.set({step:Number(o.value),slot:null})}),a=p=>()=>t.set({step:t.state.step+p,slot:null}),l=s("button",{type:"button",onclick:a(-1),"aria-label":"one step back"},"\u25C0"),i=s("button",{type:"button",onclick:a(1),"aria-label":"one step on"},"\u25B6"),u=s("button",{type:"button",id:"next-wrong",onclick:()=>I(t)},"next wrong"),d=s("p",{class:"says","aria-live":"polite"});t.watch(()=>{let{group:p,wave:h,step:b}=t.state;n.value=String(p),r.replaceChildren(...(e.waves[p]??[]).map(f=>{let m=e.steps(p,f).some(y=>y.wrong),g=()=>t.set({wave:f,slot:null}),v=T(String(f),f===h,g,m?`wave ${f}: wrong operands`:`wave ${f}`);return v.classList.toggle("bad",m),v})),o.max=String(Math.max(t.steps.length-1,0)),o.value=String(b),l.disabled=b===0,i.disabled=b>=t.steps.length-1;let w=t.step;o.setAttribute("aria-valuetext",w?Oe(t,w):"nothing was executed"),d.replaceChildren(...w?Re(t,w):["no matrix instruction was executed"]),u.disabled=t.nextWrong()===void 0});let c=e.data.moments.leftOut;return s("section",{class:"moment","aria-label":"moment"},s("label",{for:"group"},"workgroup"),n,c>0&&s("small",{},`${c} more are left out: --workgroup X,Y,Z`),s("span",{class:"label"},"wave"),r,s("div",{class:"slide"},l,s("label",{for:"step",class:"hidden"},"step"),o,i,u),d)}function I(t){let e=t.nextWrong(),n=["A","B","C"].find(r=>e?.operands[r]?.anyWrong);e!==void 0&&t.goto(e,{slot:null,...n&&{matrix:n}})}function Oe(t,e){let n=t.model.site(e.site);return`matrix instruction ${e.site}, ${n?.title??""}, execution ${e.iteration}`}function Re(t,e){let n=t.model.site(e.site),o=Object.entries(e.operands).filter(([,a])=>a.anyWrong).map(([a,l])=>`${a}: ${l.countWrong} of ${l.slots} slots`);return[s("b",{},`step ${t.state.step+1} of ${t.steps.length}`),` matrix instruction ${e.site}, `,s("code",{},n?.title??""),`, execution ${e.iteration} `,o.length>0?s("span",{class:"bad-text"},`\u2717 wrong: ${o.join("; ")}`):s("span",{class:"good-text"},"\u2713 operands are right")]}var te=[[",","one step back",t=>t.set({step:t.state.step-1,slot:null})],[".","one step on",t=>t.set({step:t.state.step+1,slot:null})],["n","next wrong operand",I],["[","wave before",t=>ee(t,-1)],["]","next wave",t=>ee(t,1)],["a","operand A",t=>t.set({matrix:"A",slot:null})],["b","operand B",t=>t.set({matrix:"B",slot:null})],["c","operand C",t=>t.set({matrix:"C",slot:null})]];function ee(t,e){let n=t.model.waves[t.state.group]??[],r=n[n.indexOf(t.state.wave)+e];r!==void 0&&t.set({wave:r,slot:null})}function ne(t){document.addEventListener("keydown",e=>{let n=e.target;if(e.ctrlKey||e.metaKey||e.altKey||n.matches("input:not([type=range]), select, textarea"))return;let r=te.find(([o])=>o===e.key);r!==void 0&&(e.preventDefault(),r[2](t))})}function re(){let t=te.flatMap(([n,r])=>[s("dt",{},s("kbd",{},n)),s("dd",{},r)]),e=[s("dt",{},s("kbd",{},"arrows")),s("dd",{},"slots of an operand, elements of the map")];return s("details",{class:"behind"},s("summary",{},"Keys"),s("dl",{},...t,...e))}var N=class{constructor(e,n){this.data=e;this.group=n;this.events=e.row.flatMap((r,o)=>{let a=e.code[e.inst[o]??-1];return a===void 0?[]:[{row:r,wave:e.wave[o]??0,code:a}]});for(let r of this.events){this.byRow.set(r.row,r);let o=this.byWave.get(r.wave);o===void 0?this.byWave.set(r.wave,[r]):o.push(r)}this.waves=[...this.byWave.keys()].sort((r,o)=>r-o)}data;group;events;waves;byWave=new Map;byRow=new Map;ofMatrix=new Map;shows(e){return e===this.group}of(e){return this.byWave.get(e)??[]}at(e){return this.byRow.get(e)}matrices(e){let n=this.ofMatrix.get(e)??this.of(e).filter(({code:r})=>r.kind==="matrix");return this.ofMatrix.set(e,n),n}rowOf(e,n){return this.matrices(e)[n]?.row??null}turnAt(e,n){return Math.max(this.matrices(e).filter(r=>r.row<=n).length-1,0)}nearest(e,n){return this.of(e).reduce((r,o)=>r&&Math.abs(r.row-n)<=Math.abs(o.row-n)?r:o,void 0)}races(e){return e.flatMap(n=>{if(!n.rule.startsWith("races/"))return[];let[r,...o]=[n.place,...n.related.map(({place:a})=>a)];for(let a of o){let l=r===void 0?null:this.race(n.what,r,a);if(l!==null)return[l]}return[]})}race(e,n,r){let o=i=>i.workgroup?.every((u,d)=>u===this.data.group[d])??!0;if(n.wave===void 0||r.wave===void 0||n.wave===r.wave||!o(n)||!o(r))return null;let a=this.of(n.wave).filter(({code:i})=>i.place.pc===n.pc),l=this.of(r.wave).filter(({code:i})=>i.place.pc===r.pc);for(let i of a)for(let u of l){let[d,c]=[this.interval(i),this.interval(u)];if(d.number!==c.number)continue;let[p,h]=i.row<u.row?[i,u]:[u,i];return{what:e,first:p,second:h,from:Math.min(d.from,c.from),to:Math.max(d.to,c.to)}}return null}interval(e){let n=this.of(e.wave).filter(({code:a})=>a.kind==="barrier"),r=n.filter(({row:a})=>a<e.row),o=n[r.length];return{number:r.length,from:r.at(-1)?.row??0,to:o?.row??this.data.rows}}},E=-1;function oe(t,e){let n=new Int32Array(t.size/4).fill(E);for(let r=0;r<t.row.length&&!((t.row[r]??0)>=e);r++)if(t.store[r])for(let o of W(t,r))n[o]=r;return n}function W(t,e){let n=[];for(let r of t.patterns[t.pattern[e]??-1]??[])if(r>=0){let o=r+(t.bytes[e]??4)-1;for(let a=r>>2;a<=o>>2;a++)n.push(a)}return n}function ae(t,e){let n=new Map;for(let a of new Set(W(t,e)))n.set(a%t.banks,(n.get(a%t.banks)??0)+1);let[r,o]=[...n].sort((a,l)=>l[1]-a[1])[0]??[0,0];return{bank:r,dwords:o}}var Ne=400;function se(t){let{timeline:e}=t,n=e?.data.lds??null,r=s("section",{class:"lds panel","aria-label":"LDS"},s("h2",{},"LDS"));if(e===null||n===null)return r.append(s("p",{},"No access of LDS was recorded.")),r;let o=Math.ceil(n.size/4/n.banks),[a,l]=[Math.floor(640/n.banks),Math.max(2,Math.min(8,Math.floor(560/o)))],i=s("canvas",{width:n.banks*a,height:o*l,tabindex:0,role:"img","aria-label":`LDS, ${o} rows of ${n.banks} banks; arrow keys choose a dword`}),u=s("p",{class:"says","aria-live":"polite"}),d=s("p",{class:"says"}),c=s("p",{class:"legend"}),p=We(e,n),h=0,b=new Int32Array,w=m=>{h=Math.max(0,Math.min(m,n.size/4-1)),f()},f=()=>{let m=t.row;if(r.hidden=m===null,m===null)return;b=oe(n,m);let g=De(e,n,t.state.wave,m);ze(i,{lds:n,writers:b,colours:p,timeline:e,wide:a,tall:l,chosen:h,access:g}),u.replaceChildren(...He(e,n,b,h)),d.replaceChildren(...Be(e,n,g))};i.addEventListener("click",m=>{let g=i.getBoundingClientRect(),v=Math.floor((m.clientX-g.left)/g.width*n.banks);w(Math.floor((m.clientY-g.top)/g.height*o)*n.banks+v)}),i.addEventListener("keydown",m=>{let g={ArrowLeft:-1,ArrowRight:1,ArrowUp:-n.banks,ArrowDown:n.banks}[m.key];g!==void 0&&(m.preventDefault(),w(h+g))});for(let[m,g]of p)c.append(s("span",{class:"swatch tint",style:`--hue: ${g}turn`}),` ${m} `);return c.append(s("span",{class:"swatch never"})," nothing was stored "),c.append(s("span",{class:"swatch access"})," the wave's latest access"),t.watch(f),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",f),r.append(d,u,s("div",{class:"scroll"},i),c,S("what lies where, as a table",["bytes","wave","stored by"],()=>Ve(e,n,b))),r}function We(t,e){let n=new Set;for(let r=0;r<e.row.length;r++)e.store[r]&&n.add(t.at(e.row[r]??-1)?.code.title??"");return new Map([...n].map((r,o)=>[r,o/n.size]))}function De(t,e,n,r){let o=-1;for(let a=0;a<e.row.length&&(e.row[a]??0)<=r;a++)t.at(e.row[a]??-1)?.wave===n&&(o=a);return o}function He(t,e,n,r){let o=s("b",{},`byte ${4*r}, bank ${r%e.banks}: `),a=n[r]??E,l=t.at(e.row[a]??-1);if(a===E||l===void 0)return[o,"nothing was stored there until now"];let u=(e.patterns[e.pattern[a]??-1]??[]).findIndex(d=>d>=0&&d>>2<=r&&r<=d+(e.bytes[a]??4)-1>>2);return[o,`stored by wave ${l.wave}, lane ${u}, with `,s("code",{},l.code.title),`, row ${l.row}`]}function Be(t,e,n){let r=t.at(e.row[n]??-1);if(n<0||r===void 0)return["The wave has not accessed LDS yet."];let{bank:o,dwords:a}=ae(e,n),l=a>1?`its lanes want up to ${a} dwords of one bank (${o})`:"its lanes want no two dwords of one bank";return[`${e.store[n]?"Store":"Load"} at hand: `,s("code",{},r.code.title),`; ${l}.`]}function*Ve(t,e,n){let r=l=>{let i=t.at(e.row[n[l]??E]??-1);return i===void 0?"":`${i.wave}
${i.code.title}`},[o,a]=[0,0];for(let l=1;l<=n.length&&a<Ne;l++){if(l<n.length&&r(l)===r(o))continue;let[i="",u="nothing"]=r(o).split(`
`);yield[`${4*o} to ${4*l-1}`,i,u],a++,o=l}}function ze(t,e){let n=t.getContext("2d");if(n===null)return;let{lds:r,writers:o,colours:a,timeline:l,wide:i,tall:u}=e,d=$(t),c=f=>[f%r.banks*i,Math.floor(f/r.banks)*u,i-1,u-1];n.clearRect(0,0,t.width,t.height);for(let f=0;f<o.length;f++){let m=l.at(r.row[o[f]??E]??-1),g=m===void 0?void 0:a.get(m.code.title),v=d(m&&m.wave%2?"tint-odd":"tint-even");n.fillStyle=g===void 0?d("off-bg"):`hsl(${g*360} ${d("tint-strong")} ${v})`,n.fillRect(...c(f))}n.fillStyle=d("copy");for(let f of new Set(e.access<0?[]:W(r,e.access)))n.fillRect(...c(f));n.strokeStyle=d("ink"),n.lineWidth=2;let[p,h,b,w]=c(e.chosen);n.strokeRect(p-1,h-1,b+2,w+2)}function le(t){let[e,n]=t.axes,r=z(t.wrong,e*n);return{rows:e,cols:n,rowsEach:t.rows,observed:V(t.observed),expected:V(t.expected),wrong:r,undefined:z(t.undefined,e*n),count:r.reduce((o,a)=>o+a,0)}}function ie(t){let e=t.expected.reduce((n,r)=>Number.isFinite(r)?Math.max(n,Math.abs(r)):n,0);return t.wrong.length===0?new Float32Array:Float32Array.from(t.wrong,(n,r)=>{if(n===0)return 0;let a=Math.abs((t.observed[r]??0)-(t.expected[r]??0))/(e||1),l=Number.isFinite(a)?Math.log10(Math.max(a,1e-4)):0;return .3+.7*Math.max(0,Math.min(1,1+l/4))})}function C(t,e){for(let n=1;n<=t.wrong.length;n++){let r=(e+n)%t.wrong.length;if(t.wrong[r])return r}return-1}function L(t){return t===void 0?"":String(Number(t.toPrecision(7)))}function de(t,e,n){let r=s("div",{class:"element","aria-live":"polite"}),o;return t.watch(()=>{let{element:a}=t.state;if(a===o&&r.childElementCount)return;if(o=a,a===null){r.replaceChildren(s("p",{class:"hint"},"No element is chosen."));return}let l=(a.product*n.rowsEach+a.row)*n.cols+a.col,i=n.undefined[l]?"undefined bits":L(n.observed[l]),u=!!n.wrong[l],d=t.model.makers(a,a.product),c=n.rows>n.rowsEach?`, product ${a.product}`:"";r.replaceChildren(s("h3",{},x(e,a)+c),s("p",{},"holds ",s("code",{class:u?"bad-text":"good-text"},i),u&&", should be ",u&&s("code",{class:"good-text"},L(n.expected[l]))),...d.length>0?d.flatMap(p=>Fe(t,p,a)):[s("p",{},Pe(t))])}),r}function Pe(t){return t.model.data.moments.leftOut>0?"No accumulator of the workgroups in this page is stored there: --workgroup X,Y,Z shows another one.":"No accumulator is stored there."}function Fe(t,e,n){let{slot:r,steps:o,belongs:a}=e,l=o[0];if(l===void 0)return[];let i=t.model.register(l.site,"C",r.vgpr,l.operands.C?.bits??32),u=`workgroup ${t.model.groupName(l.group)}, wave ${l.wave}, lane ${r.lane}, ${i}`,c=s("p",{},"made by ",s("button",{type:"button",class:"link",onclick:()=>t.goto(l,{matrix:"C",slot:r})},u));a!==null&&(a.row!==n.row||a.col!==n.col)&&c.append(s("span",{class:"bad-text"},` \u2717 which is ${x("C",a)}, stored to the wrong place`));let p=t.model.contributions(e,n),h=t.model.data.moments.shapes.A[1],b=p.filter(({right:y})=>!y).length,w=h-new Set(p.map(({k:y})=>y)).size,f=t.model.beyond(e),m=`${f.length} execution${f.length===1?"":"s"} add${f.length===1?"s":""}`,g=[`${p.length} products over k`,b>0?`${b} of wrong elements`:"all of the right elements",w>0?`${w} k are missing`:"",f.length>0?`${m} what lies beyond the last k`:""],v=a??n;return[c,s("p",{class:b+w+f.length>0?"bad-text":"good-text"},g.filter(Boolean).join(", ")),Ie(t,p,v),...f.map(y=>s("p",{},s("button",{type:"button",class:"link",onclick:()=>t.goto(y,{matrix:"A"})},`beyond the last k: instruction ${y.site}, execution ${y.iteration}`))),S("its products as a table",["k","A","B","step",""],()=>p.map(y=>[String(y.k),x("A",y.heldA),x("B",y.heldB),`instruction ${y.step.site}, execution ${y.step.iteration}`,y.right?"right":`wrong: needs A[${v.row}][${y.k}] and B[${y.k}][${v.col}]`]))]}function Ie(t,e,n){let r=e.map(o=>{let l=[["A",o.heldA,{row:n.row,col:o.k}],["B",o.heldB,{row:o.k,col:n.col}]].find(([,c,p])=>c?.row!==p.row||c.col!==p.col)?.[0],i=`k ${o.k}: ${x("A",o.heldA)} * ${x("B",o.heldB)}`,u=o.right||l===void 0?"A":l,d=u==="A"?o.a:o.b;return s("button",{type:"button",class:o.right?"right":"wrong",title:i,"aria-label":`${i}${o.right?"":", wrong"}`,onclick:()=>t.goto(o.step,{matrix:u,slot:d})},String(o.k))});return s("div",{class:"strip",role:"group","aria-label":"products over k"},...r)}var Ke=560,K=400;function ue(t){let{output:e,noOutput:n}=t.model.data,r=s("h2",{},`Output ${e?.name??""}`),o=s("section",{class:"output panel","aria-label":"output"},s("header",{},r));if(e===null)return o.append(s("p",{},`Values are not shown: ${n}`)),o;let a=le(e),l=_e(t,e.name,a),i=C(a,-1);i>=0&&t.set({element:ce(a,i)});let u=`${a.count} of ${a.rows*a.cols} elements are wrong`;return o.append(s("p",{class:"says"},a.count>0?s("span",{class:"bad-text"},`\u2717 ${u}`):s("span",{class:"good-text"},"\u2713 every element is right")," on small integers. Choose one to see what it was made of."),s("div",{class:"beside"},l,de(t,e.name,a)),S(`wrong elements as a table${a.count>K?`, the first ${K}`:""}`,["element","held","expected"],function*(){for(let d=C(a,-1),c=0;d>=0&&c<Math.min(a.count,K);c++){let p=`${e.name}[${Math.floor(d/a.cols)}][${d%a.cols}]`,h=a.undefined[d]?"undefined":L(a.observed[d]);yield[p,h,L(a.expected[d])],d=C(a,d)}})),o}function ce(t,e){let n=Math.floor(e/t.cols);return{row:n%t.rowsEach,col:e%t.cols,product:Math.floor(n/t.rowsEach)}}function _e(t,e,n){let{rows:r,cols:o}=n,a=Math.max(1,Math.floor(Ke/Math.max(r,o))),l=s("canvas",{width:o*a,height:r*a,tabindex:0,role:"img","aria-label":`map of ${e}: ${n.count} wrong elements; arrow keys choose one`}),i=(f,m)=>{let[g,v]=[Math.max(0,Math.min(f,r-1)),Math.max(0,Math.min(m,o-1))];t.set({element:ce(n,g*o+v)})},u=()=>{let f=t.state.element;return f===null?[0,0]:[f.product*n.rowsEach+f.row,f.col]};l.addEventListener("click",f=>{let m=l.getBoundingClientRect();i(Math.floor((f.clientY-m.top)/m.height*r),Math.floor((f.clientX-m.left)/m.width*o))}),l.addEventListener("keydown",f=>{let m={ArrowLeft:[0,-1],ArrowRight:[0,1],ArrowUp:[-1,0],ArrowDown:[1,0]}[f.key];m!==void 0&&(f.preventDefault(),i(u()[0]+(m[0]??0),u()[1]+(m[1]??0)))});let d=(f,m)=>s("input",{type:"number",min:0,max:m,value:0,"aria-label":f}),c=d(`row of ${e}`,r-1),p=d(`column of ${e}`,o-1);for(let f of[c,p])f.addEventListener("change",()=>i(Number(c.value),Number(p.value)));let h=s("button",{type:"button",disabled:n.count===0,onclick:()=>{let f=t.state.element===null?-1:u()[0]*o+u()[1],m=C(n,f);i(Math.floor(m/o),m%o)}},"next wrong element"),b=ie(n),w=()=>{je(l,n,b,a,t.state.element===null?null:u()),t.state.element!==null&&([c.value,p.value]=u().map(String))};return t.watch(w),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",w),s("div",{class:"map"},l,s("div",{class:"choose"},s("span",{},e),"[",c,"][",p,"]",h),s("p",{class:"legend"},s("span",{class:"swatch right"})," right ",s("span",{class:"swatch hot"})," off, the redder the further ",s("span",{class:"swatch unsure"})," undefined"))}function je(t,e,n,r,o){let a=t.getContext("2d");if(a===null)return;let l=$(t);a.fillStyle=l("good-bg"),a.fillRect(0,0,t.width,t.height);let[i,u]=[l("bad"),l("unsure")];for(let p=0;p<n.length;p++)e.wrong[p]&&(a.globalAlpha=e.undefined[p]?1:n[p]??0,a.fillStyle=e.undefined[p]?u:i,a.fillRect(p%e.cols*r,Math.floor(p/e.cols)*r,r,r));if(a.globalAlpha=1,o===null)return;let[d,c]=o.map(p=>p*r);a.strokeStyle=l("ink"),a.lineWidth=2,a.strokeRect(c-2,d-2,r+4,r+4)}var pe=`.layoutprobe h2 {
  margin: 0;
}
.layoutprobe button,
.layoutprobe select,
.layoutprobe input[type="number"] {
  font: inherit;
  font-size: 0.87rem;
  color: var(--ink);
  background: var(--paper);
  border: 1px solid var(--line);
  border-radius: 6px;
  padding: 0.15rem 0.55rem;
  min-height: 1.9rem;
  cursor: pointer;
}
.layoutprobe button:hover:not(:disabled),
.layoutprobe select:hover {
  background: var(--shade);
}
.layoutprobe button:disabled {
  color: var(--off);
  cursor: default;
}
.layoutprobe button[aria-pressed="true"] {
  background: var(--ink);
  border-color: var(--ink);
  color: var(--paper);
}
.layoutprobe button.bad::after {
  content: "";
  display: inline-block;
  width: 0.45em;
  height: 0.45em;
  margin-left: 0.35em;
  border-radius: 50%;
  background: var(--bad);
  vertical-align: middle;
}
.layoutprobe :focus-visible {
  outline: 2px solid var(--copy);
  outline-offset: 1px;
}
.layoutprobe button.link {
  border: 0;
  padding: 0;
  min-height: 0;
  color: var(--copy);
  background: none;
  text-decoration: underline;
  text-align: left;
  font-size: inherit;
}
.layoutprobe .bad-text {
  color: var(--bad);
  font-weight: 600;
}
.layoutprobe .good-text {
  color: var(--good);
}
.layoutprobe .hidden {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
}
.layoutprobe .choices {
  display: inline-flex;
  flex-wrap: wrap;
}
.layoutprobe .choices button {
  border-radius: 0;
  margin-left: -1px;
}
.layoutprobe .choices button:first-child {
  border-radius: 6px 0 0 6px;
  margin-left: 0;
}
.layoutprobe .choices button:last-child {
  border-radius: 0 6px 6px 0;
}
.layoutprobe .choices button:only-child {
  border-radius: 6px;
}

.layoutprobe .findings {
  margin: 0 0 1rem;
}
.layoutprobe .findings .card {
  margin: 0 0 0.75rem;
  padding-bottom: 0.6rem;
}
.layoutprobe .findings .go {
  display: flex;
  gap: 0.5rem;
  flex-wrap: wrap;
}

.layoutprobe .moment {
  position: sticky;
  top: 0;
  z-index: 3;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.45rem 0.7rem;
  margin: 0 0 1rem;
  padding: 0.6rem 0.9rem;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--shade);
}
.layoutprobe .moment label,
.layoutprobe .moment .label {
  color: var(--soft);
  font-size: 0.87rem;
}
.layoutprobe .slide {
  display: flex;
  gap: 0.45rem;
  flex: 1 1 22rem;
  align-items: center;
}
.layoutprobe .slide input {
  flex: 1;
  min-width: 6rem;
  accent-color: var(--copy);
}
.layoutprobe .says {
  margin: 0;
  flex-basis: 100%;
  font-size: 0.9rem;
  overflow-wrap: anywhere;
  min-height: 1.5em;
}

.layoutprobe .columns {
  display: grid;
  grid-template-columns: minmax(0, 6fr) minmax(0, 4fr);
  gap: 1rem;
  align-items: start;
}
.layoutprobe .panel {
  scroll-margin-top: 6rem;
  border: 1px solid var(--line);
  border-radius: 8px;
  padding: 0.8rem 0.9rem;
  margin: 0 0 1rem;
  min-width: 0;
}
.layoutprobe .panel > header {
  display: flex;
  flex-wrap: wrap;
  gap: 0.4rem 0.7rem;
  align-items: center;
  margin-bottom: 0.5rem;
}
.layoutprobe .panel > header h2 {
  flex: 1 1 auto;
}
.layoutprobe .panel .scroll {
  margin: 0;
}
.layoutprobe .legend {
  margin: 0.6rem 0 0;
  color: var(--soft);
  font-size: 0.83rem;
  line-height: 1.9;
}

.layoutprobe .fragment table {
  width: 100%;
  border-collapse: separate;
  border-spacing: 2px;
  table-layout: fixed;
  min-width: 44rem;
  font-variant-numeric: tabular-nums;
}
.layoutprobe .fragment th {
  border: 0;
  padding: 0 0.15rem;
  font-size: 0.75rem;
  font-weight: 500;
  color: var(--soft);
  background: none;
  text-align: center;
}
.layoutprobe .fragment thead tr:first-child th {
  color: var(--ink);
  font-weight: 600;
}
.layoutprobe .fragment th:first-child {
  width: 2.2rem;
  min-width: 0;
  text-align: right;
}
.layoutprobe .fragment td {
  border: 0;
  border-radius: 3px;
  padding: 0;
  height: 1.35rem;
  font-size: 0.7rem;
  line-height: 1.15;
  white-space: nowrap;
  cursor: pointer;
}
.layoutprobe .fragment td.even {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-even));
}
.layoutprobe .fragment td.odd {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-odd));
}
.layoutprobe .fragment td.wrong,
.layoutprobe .key.wrong {
  background: color-mix(in srgb, var(--bad) 30%, var(--paper));
  box-shadow: inset 0 0 0 1.5px var(--bad);
  color: var(--wrong);
  font-weight: 700;
  padding: 0.1rem 0;
}
.layoutprobe .fragment td.wrong small {
  display: block;
  color: var(--right);
  font-weight: 600;
  font-size: 1em;
}
.layoutprobe .fragment td.dead,
.layoutprobe .key.dead {
  background-image: repeating-linear-gradient(
    135deg,
    transparent 0 3px,
    color-mix(in srgb, var(--ink) 16%, transparent) 3px 4px
  );
  color: var(--soft);
}
.layoutprobe .fragment td.same {
  outline: 2px solid var(--copy);
  outline-offset: -1px;
}
.layoutprobe .fragment td.chosen {
  outline: 3px solid var(--ink);
  outline-offset: -1px;
}
.layoutprobe .key {
  display: inline-block;
  border-radius: 3px;
  padding: 0 0.4rem;
  line-height: 1.35;
}

.layoutprobe .source .code {
  max-height: 48rem;
  overflow: auto;
  border: 1px solid var(--line);
  border-radius: 6px;
  position: relative;
}
.layoutprobe .line {
  display: grid;
  grid-template-columns: 2.8rem 1.5rem minmax(0, 1fr);
  align-items: start;
}
.layoutprobe .long .line {
  content-visibility: auto;
  contain-intrinsic-height: auto 1.35rem;
}
.layoutprobe .line .number {
  color: var(--off);
  font-size: 0.75rem;
  text-align: right;
  padding-right: 0.3rem;
  line-height: 1.35rem;
  user-select: none;
}
.layoutprobe .line code {
  white-space: pre-wrap;
  overflow-wrap: anywhere;
  line-height: 1.35rem;
  font-size: 0.8rem;
}
.layoutprobe .line .note {
  grid-column: 3;
  margin: 0 0.4rem 0.3rem 0;
  color: var(--bad);
  font-size: 0.8rem;
  overflow-wrap: anywhere;
}
.layoutprobe .line.related .note {
  color: var(--unsure);
}
.layoutprobe .line.finding {
  background: var(--bad-bg);
  box-shadow: inset 3px 0 var(--bad);
}
.layoutprobe .line.related {
  background: var(--unsure-bg);
  box-shadow: inset 3px 0 var(--unsure);
}
.layoutprobe .line.now {
  box-shadow: inset 3px 0 var(--copy);
}
.layoutprobe .line.now .number {
  color: var(--ink);
  font-weight: 700;
}
.layoutprobe .line .mark {
  text-align: center;
  line-height: 1.35rem;
}
.layoutprobe .line button.mark {
  border: 0;
  background: none;
  padding: 0;
  min-height: 0;
}
.layoutprobe .mark.finding {
  color: var(--bad);
  font-weight: 700;
}
.layoutprobe .mark.related {
  color: var(--unsure);
  font-weight: 700;
}
.layoutprobe .mark.site {
  color: var(--copy);
}

.layoutprobe .beside {
  display: grid;
  grid-template-columns: minmax(0, auto) minmax(18rem, 1fr);
  gap: 1.2rem;
  align-items: start;
  margin-top: 0.5rem;
}
.layoutprobe canvas {
  max-width: 100%;
  height: auto;
  display: block;
  border: 1px solid var(--line);
  border-radius: 4px;
  image-rendering: pixelated;
  cursor: crosshair;
}
.layoutprobe .choose {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.2rem;
  margin-top: 0.5rem;
  font-size: 0.9rem;
}
.layoutprobe .choose input {
  width: 5rem;
}
.layoutprobe .choose button {
  margin-left: 0.6rem;
}
.layoutprobe .swatch {
  display: inline-block;
  width: 0.9em;
  height: 0.9em;
  border-radius: 3px;
  vertical-align: -0.1em;
  border: 1px solid var(--line);
}
.layoutprobe .swatch.right {
  background: var(--good-bg);
}
.layoutprobe .swatch.hot {
  background: linear-gradient(90deg, color-mix(in srgb, var(--bad) 30%, transparent), var(--bad));
}
.layoutprobe .swatch.unsure {
  background: var(--unsure);
}
.layoutprobe .element h3 {
  margin-top: 0;
  font-family: ui-monospace, monospace;
}
.layoutprobe .element p {
  margin: 0.3rem 0;
  overflow-wrap: anywhere;
}
.layoutprobe .element .hint {
  color: var(--soft);
}
.layoutprobe .strip {
  display: flex;
  flex-wrap: wrap;
  gap: 2px;
  margin: 0.4rem 0;
  max-height: 15rem;
  overflow-y: auto;
}
.layoutprobe .strip button {
  min-height: 1.5rem;
  min-width: 1.9rem;
  padding: 0 0.2rem;
  font-size: 0.72rem;
  border: 0;
  border-radius: 3px;
}
.layoutprobe .strip .right {
  background: var(--good-bg);
  color: var(--right);
}
.layoutprobe .strip .wrong {
  background: color-mix(in srgb, var(--bad) 30%, var(--paper));
  color: var(--wrong);
  font-weight: 700;
  box-shadow: inset 0 0 0 1.5px var(--bad);
}
.layoutprobe details.behind {
  border: 0;
  margin: 0.6rem 0 0;
}
.layoutprobe details.behind .scroll {
  max-height: 24rem;
  overflow: auto;
}
.layoutprobe kbd {
  font:
    0.85em ui-monospace,
    monospace;
  border: 1px solid var(--line);
  border-radius: 4px;
  padding: 0 0.35em;
}

@media (max-width: 1080px) {
  .layoutprobe .columns {
    grid-template-columns: minmax(0, 1fr);
  }
}
@media (max-width: 640px) {
  .layoutprobe .moment {
    position: static;
  }
  .layoutprobe .beside {
    grid-template-columns: minmax(0, 1fr);
  }
  .layoutprobe .source .code {
    max-height: 26rem;
  }
  .layoutprobe .fragment {
    max-height: 30rem;
    overflow: auto;
  }
  .layoutprobe .fragment th:first-child {
    position: sticky;
    left: 0;
    background: var(--paper);
    z-index: 1;
  }
}
@media (pointer: coarse) {
  .layoutprobe button,
  .layoutprobe select {
    min-height: 2.4rem;
  }
}

.layoutprobe .timeline canvas {
  max-width: none;
  image-rendering: auto;
  border: 0;
}
.layoutprobe .race {
  margin: 0.4rem 0 0;
  font-size: 0.9rem;
}
.layoutprobe .swatch.load,
.layoutprobe .swatch.access {
  background: var(--copy);
}
.layoutprobe .swatch.store {
  background: var(--unsure);
}
.layoutprobe .swatch.wait,
.layoutprobe .swatch.never {
  background: var(--off);
}
.layoutprobe .swatch.never {
  background: var(--off-bg);
}
.layoutprobe .swatch.barrier {
  background: var(--ink);
}
.layoutprobe .swatch.matrix {
  background: var(--good);
}
.layoutprobe .swatch.wrong {
  background: var(--bad);
}
.layoutprobe .swatch.tint {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-even));
}

.layoutprobe details.behind summary {
  background: none;
  padding: 0;
  color: var(--soft);
  font-size: 0.87rem;
  display: list-item;
  list-style: inside disclosure-closed;
}
.layoutprobe details.behind[open] summary {
  list-style-type: disclosure-open;
}
`;var Ue=3e3;function fe(t){let{model:e}=t,{sources:n}=e.data,r=Ye(t),o=s("div",{class:"code",tabindex:0,role:"region","aria-label":"lines of the source"}),a=s("select",{"aria-label":"file",onchange:()=>t.set({line:{file:a.value,line:1}})});a.append(...n.map(({file:u})=>s("option",{value:u},u)));let l="",i="";return t.watch(()=>{let u=t.state.line??Ze(t)??Je(t),d=u?.file??n[0]?.file??"";if(d!==l){l=d,a.value=d;let p=qe(t,d,r);o.classList.toggle("long",p.length>Ue),o.replaceChildren(...p)}for(let p of o.querySelectorAll(".now"))p.classList.remove("now");for(let p of Qe(t,d))o.querySelector(`[data-line="${p}"]`)?.classList.add("now");let c=`${d}:${u?.line}`;if(c!==i){i=c;let p=o.querySelector(`[data-line="${u?.line}"]`);p!==null&&(o.scrollTop=p.offsetTop-o.clientHeight/3)}}),n.length===0?s("section",{class:"source panel","aria-label":"source"},s("h2",{},"Source"),s("p",{},"The kernel came as a code object, or without debug information (-g): there is no source to show.")):s("section",{class:"source panel","aria-label":"source"},s("header",{},s("h2",{},"Source"),a),o,s("p",{class:"legend"},s("span",{class:"mark finding"},"\u2717")," a finding ",s("span",{class:"mark related"},"\u25CB")," on the way of the wrong value ",s("span",{class:"mark site"},"\u25C6")," a matrix instruction. Choose a marked line to go there."))}var me=t=>`${t.file}:${t.line}`;function D(t){return t.near?[]:[t,...t.inlined_at??[]]}function Ye(t){let e=new Map,n=r=>{let o=e.get(me(r))??{sites:[],findings:[],related:[]};return e.set(me(r),o),o};for(let r of t.model.data.sites)for(let o of D(r.place))n(o).sites.push(r.number);for(let r of t.model.data.findings){let o=_(t,r.place);o!==null&&n(o).findings.push(r.what);for(let{title:a,place:l}of r.related){let i=_(t,l);i!==null&&n(i).related.push(a)}}return e}function qe(t,e,n){return(t.model.data.sources.find(o=>o.file===e)?.lines??[]).map(([o,a])=>{let l=n.get(`${e}:${o}`),i=s("div",{class:"line","data-line":o},s("span",{class:"number"},String(o)),Xe(t,l,e,o),s("code",{},a||" "));return l?.findings.length?(i.classList.add("finding"),i.append(...[...new Set(l.findings)].map(u=>s("p",{class:"note"},`\u2717 ${u}`)))):l?.related.length&&(i.classList.add("related"),i.append(s("p",{class:"note"},[...new Set(l.related)].join("; ")))),i})}function Xe(t,e,n,r){if(e===void 0)return s("span",{class:"mark"});let[o,a]=e.findings.length?["\u2717","finding"]:e.related.length?["\u25CB","related"]:["\u25C6","site"],l=[...e.findings,...e.related,...e.sites.map(d=>`matrix instruction ${d}`)],i=()=>{let d=t.steps.find(c=>e.sites.includes(c.site));d===void 0?t.set({line:{file:n,line:r}}):t.goto(d,{line:{file:n,line:r},slot:null})},u={type:"button",class:`mark ${a}`,title:l.join(`
`),onclick:i};return s("button",{...u,"aria-label":`line ${r}: ${l.join("; ")}`},o)}function _(t,e){let n=new Set(t.model.data.sources.map(({file:r})=>r));for(let{file:r,line:o}of D(e))if(r!==void 0&&o!==void 0&&n.has(r))return{file:r,line:o};return null}function Ze(t){return t.model.data.findings.map(({place:n})=>_(t,n)).find(n=>n!==null)??null}function Je(t){let e=t.model.site(t.step?.site??-1),n=new Set(t.model.data.sources.map(({file:a})=>a)),o=[...e===void 0?[]:D(e.place)].reverse().find(({file:a})=>a!==void 0&&n.has(a));return o?.file!==void 0&&o.line!==void 0?{file:o.file,line:o.line}:null}function Qe(t,e){let n=t.model.site(t.step?.site??-1);return(n===void 0?[]:D(n.place)).flatMap(o=>o.file===e&&o.line!==void 0?[o.line]:[])}var H=class{constructor(e,n){this.model=e;this.now=n;let{timeline:r}=e.data;this.timeline=r&&new N(r,e.groupNumber(r.group))}model;now;views=[];waiting=!0;timeline;get state(){return this.now}get steps(){return this.model.steps(this.now.group,this.now.wave)}get step(){return this.steps[this.now.step]}watch(e){this.views.push(e)}start(){this.waiting=!1;for(let e of this.views)e()}set(e){let n={...this.now,...e},r=this.model.steps(n.group,n.wave);(e.step!==void 0||e.wave!==void 0||e.group!==void 0)&&(n.row=e.row??null),this.now={...n,step:Math.max(0,Math.min(n.step,r.length-1))},!this.waiting&&(this.waiting=!0,requestAnimationFrame(()=>{this.waiting=!1;for(let o of this.views)o()}))}get row(){let{timeline:e}=this;return e===null||!e.shows(this.now.group)?null:this.now.row??e.rowOf(this.now.wave,this.step?.turn??0)}at(e){let n=this.model.steps(this.now.group,e.wave),r=this.timeline?.turnAt(e.wave,e.row)??0,o=n.findLastIndex(a=>a.turn<=r);this.set({wave:e.wave,step:Math.max(o,0),row:e.row,slot:null})}goto(e,n={}){let r=this.model.steps(e.group,e.wave).indexOf(e);this.set({group:e.group,wave:e.wave,step:Math.max(r,0),...n})}nextWrong(){let e=[...this.model.every].flat(),n=this.step===void 0?-1:e.indexOf(this.step);return[...e.slice(n+1),...e.slice(0,n+1)].find(o=>o.wrong)}};function ge(t){let{opened:e}=t.data,n=[...t.every].flat(),r=e.group===null?-1:t.groupNumber(e.group),o=c=>(r<0||c.group===r)&&(e.wave===null||c.wave===e.wave)&&(e.site===null||c.site===e.site)&&(e.iteration===null||c.iteration===e.iteration),a=n.filter(o),i=a.find(c=>e.matrix!==null&&c.operands[e.matrix]?.anyWrong)??a.find(c=>c.wrong)??a[0]??n[0],u=["A","B","C"].find(c=>i?.operands[c]?.anyWrong),d=i===void 0?0:t.steps(i.group,i.wave).indexOf(i);return{group:i?.group??0,wave:i?.wave??0,step:d,row:null,matrix:e.matrix??u??"A",shown:"both",slot:null,element:null,line:null}}var k=20,be=14,A=34,et=16e3,tt={barrier:"ink",wait:"off",load:"copy",store:"unsure",atomic:"unsure",matrix:"good",end:"line"},nt=["end","wait","load","store","atomic","matrix","barrier"];function he(t){let{timeline:e}=t,n=s("section",{class:"timeline panel","aria-label":"timeline"});if(e===null)return n.append(s("h2",{},"Timeline"),s("p",{},"The run is too long for a timeline: take a smaller size.")),n;let r=e.races(t.model.data.findings),o=s("canvas",{tabindex:0,role:"img","aria-label":`events of ${e.waves.length} waves; arrow keys move from event to event and between waves`}),a=1,l=()=>lt(o,i,t,e,r,a),i=s("div",{class:"scroll"},o),u=s("p",{class:"says","aria-live":"polite"}),d=c=>()=>{a=Math.max(1,Math.min(a*c,64)),l();let p=Number(o.dataset.cursor??0);i.scrollLeft=p-i.clientWidth/2};return o.addEventListener("click",c=>{let p=o.getBoundingClientRect(),h=e.waves[Math.floor((c.clientY-p.top)/k)],b=o.clientWidth-A,w=(c.clientX-p.left-A)/b*e.data.rows,f=h===void 0?void 0:e.nearest(h,w);f!==void 0&&j(t,e,f)}),o.addEventListener("keydown",c=>rt(c,t,e)),t.watch(()=>{l(),u.replaceChildren(...ot(t,e))}),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",l),addEventListener("resize",l),n.append(s("header",{},s("h2",{},"Timeline"),s("button",{type:"button",onclick:d(2),"aria-label":"zoom in"},"+"),s("button",{type:"button",onclick:d(.5),"aria-label":"zoom out"},"\u2212")),u,i,...r.map(c=>at(t,e,c)),st(e),S("events of the wave as a table",["row","kind","instruction","at"],()=>e.of(t.state.wave).map(({row:c,code:p})=>[String(c),p.kind,p.text,p.title]))),n}function j(t,e,n){let r=t.model.groupNumber(e.data.group);r!==t.state.group&&t.set({group:r,wave:n.wave}),t.at(n)}function rt(t,e,n){let{wave:r}=e.state,o=e.row??0,a=n.of(r),l=d=>{let c=n.waves[n.waves.indexOf(r)+d];return c===void 0?void 0:n.nearest(c,o)},u={ArrowLeft:()=>a.findLast(d=>d.row<o),ArrowRight:()=>a.find(d=>d.row>o),ArrowUp:()=>l(-1),ArrowDown:()=>l(1)}[t.key]?.();u!==void 0&&(t.preventDefault(),j(e,n,u))}function ot(t,e){let n=t.row;if(n===null)return[`Workgroup ${`(${e.data.group.join(", ")})`} was recorded; choose an event to go there.`];let r=e.at(n);return[s("b",{},`wave ${t.state.wave}, row ${n} of ${e.data.rows}: `),s("code",{},r?.code.text??""),r?.code.place.line===void 0?"":` at ${r.code.place.file}:${r.code.place.line}`,e.data.cut&&s("span",{class:"bad-text"},` The run ends early: ${e.data.cut}`)].filter(o=>o!=="")}function at(t,e,n){let r=o=>s("button",{type:"button",class:"link",onclick:()=>j(t,e,o)},`${o.code.title} (wave ${o.wave})`);return s("p",{class:"race"},s("span",{class:"bad-text"},"\u2717 race: "),r(n.first)," and ",r(n.second),", with no barrier between them")}function st(t){let e=["load","store","wait","barrier","matrix"],n=new Set(t.events.map(({code:r})=>r.kind));return s("p",{class:"legend"},...e.filter(r=>n.has(r)).flatMap(r=>[s("span",{class:`swatch ${r}`}),` ${r} `]),s("span",{class:"swatch wrong"})," matrix instruction with a wrong operand. From left to right in the order in which the emulator executes: no cycles.")}function lt(t,e,n,r,o,a){let l=t.getContext("2d"),i=Math.min(et,Math.max(Math.floor(e.clientWidth*a),200)),u=r.waves.length*k;if(l===null)return;(t.width!==i||t.height!==u)&&([t.width,t.height]=[i,u]),t.style.width=`${i}px`;let d=$(t),c=m=>A+m/r.data.rows*(i-A-4),p=m=>r.waves.indexOf(m)*k,h=n.model.groupNumber(r.data.group);l.clearRect(0,0,i,u),l.font="11px system-ui, sans-serif";for(let m of r.waves){let g=m===n.state.wave&&h===n.state.group;l.fillStyle=d(g?"off-bg":"shade"),l.fillRect(A,p(m)+1,i-A,k-2),l.fillStyle=d(g?"ink":"soft"),l.fillText(`w${m}`,6,p(m)+14)}let b=new Set(r.waves.flatMap(m=>n.model.steps(h,m).filter(g=>g.wrong).map(g=>r.rowOf(m,g.turn)))),w=Math.max(1.5,Math.min(8,i/r.data.rows*.8));for(let m of nt)for(let g of r.events){if(g.code.kind!==m)continue;l.fillStyle=d(b.has(g.row)?"bad":tt[m]??"line");let[v,y]=m==="barrier"?[0,k]:m==="wait"?[9,4]:[(k-be)/2,be];l.fillRect(c(g.row),p(g.wave)+v,m==="barrier"?2:w,y)}for(let m of o)it(l,m,c,p,d("bad"));let f=n.row;f!==null&&(t.dataset.cursor=String(Math.round(c(f))),l.fillStyle=d("copy"),l.fillRect(c(f)-1,0,2,u),l.strokeStyle=d("copy"),l.lineWidth=2,l.strokeRect(c(f)-4,p(n.state.wave)+1,9,k-2))}function it(t,e,n,r,o){t.fillStyle=o,t.strokeStyle=o,t.lineWidth=2;let a=[e.first,e.second];t.globalAlpha=.22;for(let{wave:l}of a)t.fillRect(n(e.from),r(l),n(e.to)-n(e.from),k);t.globalAlpha=1,t.beginPath(),t.moveTo(n(e.first.row),r(e.first.wave)+k/2),t.lineTo(n(e.second.row),r(e.second.wave)+k/2),t.stroke();for(let{row:l,wave:i}of a)t.beginPath(),t.arc(n(l),r(i)+k/2,5,0,2*Math.PI),t.fill()}function dt(){let t=document.getElementById("kernel"),e=document.getElementById("layoutprobe-data")?.textContent;if(t===null||!e)return;let n=JSON.parse(e);if(n.schema!==B){t.append(s("p",{},`This page's data is ${n.schema}, and its script reads ${B}.`));return}let r=new R(n),o=new H(r,ge(r));t.append(s("style",{},pe),U(o),Q(o),he(o),s("div",{class:"columns"},Z(o),fe(o)),ue(o),se(o),re()),o.start(),ne(o)}dt();})();
